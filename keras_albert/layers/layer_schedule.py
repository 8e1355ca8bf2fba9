"""Which weights each layer call uses: the sharing policies as one function.

ALBERT calls its layer `num_layers` times. How many distinct layers stand
behind these calls is the sharing policy (Lan et al., 2020, section 3.1 and
Table 4). Everything else in the encoder reads this list.
"""

SHARING_POLICIES = ("all", "attention", "ffn", "none")


def layer_schedule(sharing, num_layers, num_groups=1, num_inner_repetitions=1):
    """Lists, for each layer call, which weights it uses.

    Consecutive calls form `num_groups` blocks, call `i` belonging to group
    `i * num_groups // num_layers` as in Google's code. A policy that shares a
    part gives that part the index of the group; a part that is not shared
    gets an index of its own for each call.

    Args:
        sharing: string. `"all"` shares attention and feed-forward within a
            group, `"attention"` and `"ffn"` share only that part, `"none"`
            shares nothing.
        num_layers: int. Number of group calls.
        num_groups: int. Number of blocks that share; 1 shares over the whole
            depth, `num_layers // 3` "every three layers". Defaults to 1.
        num_inner_repetitions: int. Number of *distinct* layers run in each
            group call (Google's `inner_group_num`). The true depth is
            `num_layers * num_inner_repetitions`. Defaults to 1.

    Returns:
        List of `(attention_index, feed_forward_index)`, one entry per layer
        call, in call order. Parts with equal indices are the same variables.

    Raises:
        ValueError: for an unknown policy or sizes that do not fit.

    Example:

    >>> layer_schedule("all", num_layers=3)
    [(0, 0), (0, 0), (0, 0)]
    >>> layer_schedule("attention", num_layers=3)
    [(0, 0), (0, 1), (0, 2)]
    >>> layer_schedule("all", num_layers=4, num_groups=2)
    [(0, 0), (0, 0), (1, 1), (1, 1)]
    """
    _check_schedule(sharing, num_layers, num_groups, num_inner_repetitions)
    schedule = []
    for call in range(num_layers):
        group = call * num_groups // num_layers
        for inner in range(num_inner_repetitions):
            shared = group * num_inner_repetitions + inner
            own = call * num_inner_repetitions + inner
            schedule.append(
                (
                    shared if sharing in ("all", "attention") else own,
                    shared if sharing in ("all", "ffn") else own,
                )
            )
    return schedule


def shallow_calls(num_layers, active_layers, num_groups=1):
    """Returns which group calls of a deep schedule a shallow one makes.

    Each group makes its first calls, so that a shallow encoder has no parts
    that the deep one has not.

    Args:
        num_layers: int. Group calls of the deep schedule.
        active_layers: int. Group calls of the shallow one.
        num_groups: int. Defaults to `1`.

    Returns:
        List of `active_layers` ints below `num_layers`, of the groups that a
        schedule of that depth has.

    Example:

    >>> shallow_calls(num_layers=6, active_layers=2, num_groups=2)
    [0, 3]
    """
    groups = [call * num_groups // num_layers for call in range(num_layers)]
    made = [call * num_groups // active_layers for call in range(active_layers)]
    calls = []
    for call, group in enumerate(made):
        place = call - made.index(group)
        # Rounding may leave a group one call short; it makes its last twice.
        place = min(place, groups.count(group) - 1)
        calls.append(groups.index(group) + place)
    return calls


def _check_schedule(sharing, num_layers, num_groups, num_inner_repetitions):
    if sharing not in SHARING_POLICIES:
        raise ValueError(
            f"`sharing` must be one of {', '.join(SHARING_POLICIES)}. "
            f"Received: sharing={sharing!r}. Use 'all' for the published "
            "models."
        )
    for name, value in [
        ("num_layers", num_layers),
        ("num_groups", num_groups),
        ("num_inner_repetitions", num_inner_repetitions),
    ]:
        if not isinstance(value, int) or value < 1:
            raise ValueError(
                f"`{name}` must be a positive integer. "
                f"Received: {name}={value!r}."
            )
    if num_groups > num_layers:
        raise ValueError(
            "`num_groups` must not exceed `num_layers`, or some groups would "
            f"never be called. Received: num_groups={num_groups}, "
            f"num_layers={num_layers}. Use num_groups=1 to share all layers."
        )
