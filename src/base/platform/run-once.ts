/** Runs work whose result several callers want: the first call does it, and all others get the same result. */

export function runOnce<Result extends object | string>(work: () => Result): () => Result {
  let result: Result | undefined
  return () => {
    result ??= work()
    return result
  }
}
