/**
 * The clock of the browser, which no other file reads. It may differ from the clock of the server. So pages show
 * times of the server. They use this clock only for relative times and as a first value of forms.
 */

/** Milliseconds since 1970. */
export function readNow(): number {
  return Date.now()
}
