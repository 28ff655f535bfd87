program "conv1d" machine "micro" grid 1 by 1 vars 3
engine dma.load dma_load 0
engine dma.store dma_store 0
engine mxu matrix 0
engine vpu vector 0
semaphore k0.x.mxu.full = 0
semaphore k0.x.mxu.free = 2
semaphore k0.w.mxu.full = 0
semaphore k0.w.mxu.free = 1
semaphore k0.y.dma.store.full = 0
semaphore k0.y.dma.store.free = 2
semaphore k0.y.acc.vpu.full = 0
semaphore k0.y.acc.vpu.free = 2
step "Conv"
trail "Conv" kind "Conv" nodes ["Conv"]
buffer x memory 0 at 192 bytes 160 input fp32 [1, 4, 10] tensor "x" steps 0 to 1
buffer w memory 0 at 0 bytes 192 constant fp32 [4, 4, 3] tensor "w" steps 0 to 1
buffer y memory 0 at 384 bytes 128 output fp32 [1, 4, 8] tensor "y" steps 0 to 1
buffer k0.x memory 1 at 0 bytes 192 tile fp32 [] tensor "x" steps 0 to 1
buffer k0.w memory 1 at 192 bytes 192 tile fp32 [] tensor "w" steps 0 to 1
buffer k0.y memory 1 at 384 bytes 128 tile fp32 [] tensor "y" steps 0 to 1
buffer k0.y.acc memory 2 at 0 bytes 128 tile fp32 [] tensor "y.acc" steps 0 to 1
bind input "x" = x
bind output "y" = y
bind constant "w" = w
code {
  wait @dma.load k0.w.mxu.free 1
  copy @dma.load for [x0 < 4, x1 < 4, x2 < 3]
    out k0.w fp32 [x0 of 4 by 48, x1 of 4 by 12, x2 of 3 by 4]
    in w fp32 [x0 of 4 by 48, x1 of 4 by 12, x2 of 3 by 4]
    body {
      v0 = input 0 : fp32
    }
    trail 0  // "Conv"
  signal @dma.load k0.w.mxu.full 1
  wait @mxu k0.w.mxu.full 1
  loop p < 2 {
    wait @dma.load k0.x.mxu.free 1
    copy @dma.load for [x0 < 1, x1 < 4, x2 < 6]
      out k0.x fp32 ring (%p) mod 2 step 96 [x0 of 1 by 96, x1 of 4 by 24, x2 of 6 by 4]
      in x fp32 [x0 of 1 by 160, x1 of 4 by 40, x2 + 4*%p of 10 by 4]
      body {
        v0 = input 0 : fp32
      }
      trail 0  // "Conv"
    signal @dma.load k0.x.mxu.full 1
    wait @mxu k0.x.mxu.full 1
    wait @mxu k0.y.acc.vpu.free 1
    contract @mxu for [n < 1, k < 4, p < 4, sum c < 4, sum r < 3]
      out k0.y.acc fp32 ring (%p) mod 2 step 64 [0 of 1 by 64, k of 4 by 16, p of 4 by 4]
      in k0.x fp32 ring (%p) mod 2 step 96 [0 of 1 by 96, c of 4 by 24, p + r of 6 by 4]
      in k0.w fp32 [k of 4 by 48, c of 4 by 12, r of 3 by 4]
      combine sum fp32
      array weight_stationary rows [c * 4, r * 3] cols [k * 4] order [n, k, p, c, r]
      trail 0  // "Conv"
    signal @mxu k0.y.acc.vpu.full 1
    wait @vpu k0.y.acc.vpu.full 1
    wait @vpu k0.y.dma.store.free 1
    vector @vpu for [n < 1, k < 4, p < 4]
      out k0.y fp32 ring (%p) mod 2 step 64 [0 of 1 by 64, k of 4 by 16, p of 4 by 4]
      in k0.y.acc fp32 ring (%p) mod 2 step 64 [0 of 1 by 64, k of 4 by 16, p of 4 by 4]
      body {
        v0 = input 0 : fp32
      }
      trail 0  // "Conv"
    signal @vpu k0.y.acc.vpu.free 1
    signal @vpu k0.y.dma.store.full 1
    wait @dma.store k0.y.dma.store.full 1
    copy @dma.store for [x0 < 1, x1 < 4, x2 < 4]
      out y fp32 [x0 of 1 by 128, x1 of 4 by 32, x2 + 4*%p of 8 by 4]
      in k0.y fp32 ring (%p) mod 2 step 64 [x0 of 1 by 64, x1 of 4 by 16, x2 of 4 by 4]
      body {
        v0 = input 0 : fp32
      }
      trail 0  // "Conv"
    signal @dma.store k0.y.dma.store.free 1
    signal @mxu k0.x.mxu.free 1
  }
  signal @mxu k0.w.mxu.free 1
}
