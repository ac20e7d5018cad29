/** Work that several callers may begin: the first call starts it, and all of them wait for that. */

export function runOnce(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null
  return () => {
    running ??= work()
    return running
  }
}
