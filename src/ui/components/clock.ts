/**
 * The clock of the browser, which no other file reads. It may differ from that of the server, so pages show times of the
 * server and use this clock only for what is a while ago or ahead, and as a first value of forms.
 */

/** Milliseconds since 1970. */
export function readNow(): number {
  return Date.now()
}
