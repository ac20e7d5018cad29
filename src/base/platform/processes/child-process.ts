/** Sets up one of our child processes from inside: its stream to the parent, and its rank when memory runs out. */
import { writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** The stream on the descriptor after the standard ones, which is `stdio[3]` to the parent. */
export function openParentStream(): Duplex {
  return new Socket({ fd: 3 })
}

/** Makes Linux kill this process before all others when memory runs out. It does nothing on other systems. */
export function raiseOomScore(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000')
  } catch {
    // This is not Linux, or it is not permitted: the limits of the process itself remain.
  }
}
