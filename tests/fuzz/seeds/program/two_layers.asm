program "two_layers" machine "micro" grid 1 by 1 vars 3
engine dma.load dma_load 0
engine dma.store dma_store 0
engine mxu matrix 0
engine vpu vector 0
semaphore k0.x.mxu.full = 0
semaphore k0.x.mxu.free = 2
semaphore k0.w1.mxu.full = 0
semaphore k0.w1.mxu.free = 2
semaphore k0.h.vpu.full = 0
semaphore k0.h.vpu.free = 1
semaphore k1.w2.mxu.full = 0
semaphore k1.w2.mxu.free = 1
semaphore k1.y.dma.store.full = 0
semaphore k1.y.dma.store.free = 1
semaphore k1.y.acc.vpu.full = 0
semaphore k1.y.acc.vpu.free = 1
semaphore s0.mxu.k1.vpu = 0
semaphore s0.dma.load.k1.vpu = 0
semaphore s0.dma.load.k1.dma.store = 0
semaphore s0.vpu.k1.mxu = 0
step "MatMul"
step "MatMul_1"
trail "MatMul" kind "MatMul" nodes ["MatMul", "Relu"]
trail "MatMul_1" kind "MatMul" nodes ["MatMul"]
buffer x memory 0 at 0 bytes 128 input fp32 [4, 8] tensor "x" steps 0 to 2
buffer w1 memory 0 at 128 bytes 128 constant fp32 [8, 4] tensor "w1" steps 0 to 2
buffer h memory 0 at 256 bytes 64 intermediate fp32 [4, 4] tensor "h" steps 0 to 1
buffer w2 memory 0 at 320 bytes 64 constant fp32 [4, 4] tensor "w2" steps 0 to 2
buffer y memory 0 at 384 bytes 64 output fp32 [4, 4] tensor "y" steps 0 to 2
buffer r memory 1 at 256 bytes 64 intermediate fp32 [4, 4] tensor "r" steps 0 to 2
buffer k0.x memory 1 at 0 bytes 128 tile fp32 [] tensor "x" steps 0 to 1
buffer k0.w1 memory 1 at 128 bytes 128 tile fp32 [] tensor "w1" steps 0 to 1
buffer k1.w2 memory 1 at 320 bytes 64 tile fp32 [] tensor "w2" steps 0 to 2
buffer k1.y memory 1 at 0 bytes 64 tile fp32 [] tensor "y" steps 1 to 2
buffer k0.h memory 2 at 0 bytes 64 tile fp32 [] tensor "h" steps 0 to 1
buffer k1.y.acc memory 2 at 0 bytes 64 tile fp32 [] tensor "y.acc" steps 1 to 2
bind input "x" = x
bind output "y" = y
bind constant "w1" = w1
bind constant "w2" = w2
code {
  wait @mxu k0.h.vpu.free 1
  loop k < 2 {
    wait @dma.load k0.x.mxu.free 1
    copy @dma.load for [x0 < 4, x1 < 4]
      out k0.x fp32 ring (%k) mod 2 step 64 [x0 of 4 by 16, x1 of 4 by 4]
      in x fp32 [x0 of 4 by 32, x1 + 4*%k of 8 by 4]
      body {
        v0 = input 0 : fp32
      }
      trail 0  // "MatMul"
    signal @dma.load k0.x.mxu.full 1
    wait @mxu k0.x.mxu.full 1
    wait @dma.load k0.w1.mxu.free 1
    copy @dma.load for [x0 < 4, x1 < 4]
      out k0.w1 fp32 ring (%k) mod 2 step 64 [x0 of 4 by 16, x1 of 4 by 4]
      in w1 fp32 [x0 + 4*%k of 8 by 16, x1 of 4 by 4]
      body {
        v0 = input 0 : fp32
      }
      trail 0  // "MatMul"
    signal @dma.load k0.w1.mxu.full 1
    wait @mxu k0.w1.mxu.full 1
    contract @mxu for [m < 4, n < 4, sum k < 4]
      out k0.h fp32 [m of 4 by 16, n of 4 by 4]
      in k0.x fp32 ring (%k) mod 2 step 64 [m of 4 by 16, k of 4 by 4]
      in k0.w1 fp32 ring (%k) mod 2 step 64 [k of 4 by 16, n of 4 by 4]
      combine sum fp32
      accumulate_unless_zero [%k]
      array weight_stationary rows [k * 8] cols [n * 4] order [m, n, k]
      trail 0  // "MatMul"
    signal @mxu k0.x.mxu.free 1
    signal @mxu k0.w1.mxu.free 1
  }
  signal @mxu k0.h.vpu.full 1
  wait @vpu k0.h.vpu.full 1
  vector @vpu for [m < 4, n < 4]
    out r fp32 [m of 4 by 16, n of 4 by 4]
    in k0.h fp32 [m of 4 by 16, n of 4 by 4]
    body {
      v0 = input 0 : fp32
      v1 = constant 0 : fp32
      v2 = max v0 v1 : fp32
    }
    trail 0  // "MatMul"
  signal @vpu k0.h.vpu.free 1
  signal @mxu s0.mxu.k1.vpu 1
  signal @dma.load s0.dma.load.k1.vpu 1
  signal @dma.load s0.dma.load.k1.dma.store 1
  signal @vpu s0.vpu.k1.mxu 1
  wait @vpu s0.mxu.k1.vpu 1
  wait @vpu s0.dma.load.k1.vpu 1
  wait @dma.store s0.dma.load.k1.dma.store 1
  wait @mxu s0.vpu.k1.mxu 1
  wait @dma.load k1.w2.mxu.free 1
  copy @dma.load for [x0 < 4, x1 < 4]
    out k1.w2 fp32 [x0 of 4 by 16, x1 of 4 by 4]
    in w2 fp32 [x0 of 4 by 16, x1 of 4 by 4]
    body {
      v0 = input 0 : fp32
    }
    trail 1  // "MatMul_1"
  signal @dma.load k1.w2.mxu.full 1
  wait @mxu k1.w2.mxu.full 1
  wait @mxu k1.y.acc.vpu.free 1
  contract @mxu for [m < 4, n < 4, sum k < 4]
    out k1.y.acc fp32 [m of 4 by 16, n of 4 by 4]
    in r fp32 [m of 4 by 16, k of 4 by 4]
    in k1.w2 fp32 [k of 4 by 16, n of 4 by 4]
    combine sum fp32
    array weight_stationary rows [k * 4] cols [n * 4] order [m, n, k]
    trail 1  // "MatMul_1"
  signal @mxu k1.y.acc.vpu.full 1
  wait @vpu k1.y.acc.vpu.full 1
  wait @vpu k1.y.dma.store.free 1
  vector @vpu for [m < 4, n < 4]
    out k1.y fp32 [m of 4 by 16, n of 4 by 4]
    in k1.y.acc fp32 [m of 4 by 16, n of 4 by 4]
    body {
      v0 = input 0 : fp32
    }
    trail 1  // "MatMul_1"
  signal @vpu k1.y.acc.vpu.free 1
  signal @vpu k1.y.dma.store.full 1
  wait @dma.store k1.y.dma.store.full 1
  copy @dma.store for [x0 < 4, x1 < 4]
    out y fp32 [x0 of 4 by 16, x1 of 4 by 4]
    in k1.y fp32 [x0 of 4 by 16, x1 of 4 by 4]
    body {
      v0 = input 0 : fp32
    }
    trail 1  // "MatMul_1"
  signal @dma.store k1.y.dma.store.free 1
  signal @mxu k1.w2.mxu.free 1
}
