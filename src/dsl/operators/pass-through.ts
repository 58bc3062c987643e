import type { NodeSupplier } from '../../processor/processor.ts'

/** Passes everything on: where streams meet. Java's PassThrough. */
export function passThrough(): NodeSupplier {
  return (context) => ({
    process(key, value) {
      context.forward(key, value)
    },
  })
}
