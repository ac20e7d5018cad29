/** Tells whether the terminal from which this process was started is gone: its window was closed. */
import { closeSync, openSync } from 'node:fs'

/** Call it at the start. Without a terminal, none can be closed. */
export function watchTerminal(): () => boolean {
  const hadTerminal = hasTerminal()
  return () => hadTerminal && !hasTerminal()
}

/** The system lets a process open this file as long as it has a terminal. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}
