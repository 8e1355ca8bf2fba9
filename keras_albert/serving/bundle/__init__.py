"""What a platform team receives: models, how to run and how to ask them."""
