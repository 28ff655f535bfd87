program "gemm" machine "micro" grid 1 by 1 vars 2
engine dma.load dma_load 0
engine dma.store dma_store 0
engine mxu matrix 0
engine vpu vector 0
semaphore k0.a.mxu.full = 0
semaphore k0.a.mxu.free = 1
semaphore k0.b.mxu.full = 0
semaphore k0.b.mxu.free = 1
semaphore k0.c.dma.store.full = 0
semaphore k0.c.dma.store.free = 1
semaphore k0.c.acc.vpu.full = 0
semaphore k0.c.acc.vpu.free = 1
step "MatMul"
trail "MatMul" kind "MatMul" nodes ["MatMul"]
buffer a memory 0 at 0 bytes 64 input fp32 [4, 4] tensor "a" steps 0 to 1
buffer b memory 0 at 64 bytes 64 constant fp32 [4, 4] tensor "b" steps 0 to 1
buffer c memory 0 at 128 bytes 64 output fp32 [4, 4] tensor "c" steps 0 to 1
buffer k0.a memory 1 at 0 bytes 64 tile fp32 [] tensor "a" steps 0 to 1
buffer k0.b memory 1 at 64 bytes 64 tile fp32 [] tensor "b" steps 0 to 1
buffer k0.c memory 1 at 128 bytes 64 tile fp32 [] tensor "c" steps 0 to 1
buffer k0.c.acc memory 2 at 0 bytes 64 tile fp32 [] tensor "c.acc" steps 0 to 1
bind input "a" = a
bind output "c" = c
bind constant "b" = b
code {
  wait @dma.load k0.a.mxu.free 1
  copy @dma.load for [x0 < 4, x1 < 4]
    out k0.a fp32 [x0 of 4 by 16, x1 of 4 by 4]
    in a fp32 [x0 of 4 by 16, x1 of 4 by 4]
    body {
      v0 = input 0 : fp32
    }
    trail 0  // "MatMul"
  signal @dma.load k0.a.mxu.full 1
  wait @mxu k0.a.mxu.full 1
  wait @dma.load k0.b.mxu.free 1
  copy @dma.load for [x0 < 4, x1 < 4]
    out k0.b fp32 [x0 of 4 by 16, x1 of 4 by 4]
    in b fp32 [x0 of 4 by 16, x1 of 4 by 4]
    body {
      v0 = input 0 : fp32
    }
    trail 0  // "MatMul"
  signal @dma.load k0.b.mxu.full 1
  wait @mxu k0.b.mxu.full 1
  wait @mxu k0.c.acc.vpu.free 1
  contract @mxu for [m < 4, n < 4, sum k < 4]
    out k0.c.acc fp32 [m of 4 by 16, n of 4 by 4]
    in k0.a fp32 [m of 4 by 16, k of 4 by 4]
    in k0.b fp32 [k of 4 by 16, n of 4 by 4]
    combine sum fp32
    array weight_stationary rows [k * 4] cols [n * 4] order [m, n, k]
    trail 0  // "MatMul"
  signal @mxu k0.c.acc.vpu.full 1
  wait @vpu k0.c.acc.vpu.full 1
  wait @vpu k0.c.dma.store.free 1
  vector @vpu for [m < 4, n < 4]
    out k0.c fp32 [m of 4 by 16, n of 4 by 4]
    in k0.c.acc fp32 [m of 4 by 16, n of 4 by 4]
    body {
      v0 = input 0 : fp32
    }
    trail 0  // "MatMul"
  signal @vpu k0.c.acc.vpu.free 1
  signal @vpu k0.c.dma.store.full 1
  wait @dma.store k0.c.dma.store.full 1
  copy @dma.store for [x0 < 4, x1 < 4]
    out c fp32 [x0 of 4 by 16, x1 of 4 by 4]
    in k0.c fp32 [x0 of 4 by 16, x1 of 4 by 4]
    body {
      v0 = input 0 : fp32
    }
    trail 0  // "MatMul"
  signal @dma.store k0.c.dma.store.free 1
  signal @mxu k0.a.mxu.free 1
  signal @mxu k0.b.mxu.free 1
}
