/** Where Linux runs out of memory, it ends this process before all others; elsewhere nothing happens. */
import { writeFileSync } from 'node:fs'

export function raiseOomScore(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000')
  } catch {
    // No Linux, or it is not allowed: the limits of the process itself remain.
  }
}
