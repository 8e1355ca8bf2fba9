from keras_albert.training.plan_program import array_bytes
from keras_albert.training.plan_program import count_collectives

PROGRAM = """\
  %a = f32[2,3]{1,0:T(8,128)} all-reduce(%x), channel_id=1, to_apply=%add
  %b = (f32[5]{0}, bf16[4]{0}) all-reduce-start(%y, %z), channel_id=2
  %c = (f32[5]{0}, bf16[4]{0}) all-reduce-done(%b)
  %d = (f32[4]{0}, f32[16]{0}, u32[]) all-gather-start(%w), dimensions={0}
  %e = bf16[8]{0} reduce-scatter(%v), dimensions={0}
  %f = f32[7]{0} add(%all-reduce.1, %g)
"""


def test_collectives_are_counted_with_their_bytes():
    assert count_collectives(PROGRAM) == {
        # 2*3*4, and once for start and done 5*4 + 4*2.
        "all-reduce": {"count": 2, "bytes": 24 + 28},
        # Of a started gather, what it gives and not what it takes.
        "all-gather": {"count": 1, "bytes": 64},
        "reduce-scatter": {"count": 1, "bytes": 16},
    }


def test_sizes_of_arrays_follow_their_types():
    text = "(pred[3], s8[3], f32[], bf16[2,2], f8e4m3fn[4], s4[3], f64[1])"

    assert array_bytes(text) == [3, 3, 4, 8, 4, 2, 8]
