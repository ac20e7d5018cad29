import { styleText } from 'node:util'

/**
 * True if each part of a test has done something. Each that has not is named in red: that nothing went wrong there says
 * nothing. `counts`: by the words for what was done, how often.
 */
export function isExercised(counts) {
  const idle = Object.entries(counts).filter(([, count]) => count === 0)
  // The report may go to a file or a pipe, whose reader has to see it too.
  for (const [done] of idle) console.log(styleText('red', `NOT TESTED: ${done}: none`, { validateStream: false }))
  return idle.length === 0
}
