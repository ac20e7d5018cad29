/** Progress of a command that takes long: a line on standard error each second, after the first two. */
const QUIET_TIME = 2_000
const INTERVAL = 1_000

export type ShowProgress = (text: string) => void

/** `print` writes to standard error. `now` reads the milliseconds of any clock. */
export function createProgress(print: (text: string) => void, now: () => number): ShowProgress {
  let next = now() + QUIET_TIME
  return (text) => {
    if (now() < next) return
    next = now() + INTERVAL
    print(`posthorn: ${text}\n`)
  }
}
