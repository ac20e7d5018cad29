/** The form of a message's lines, checked in one go. */
import { checkLinesInSteps, type LineCheck, type LineLimits } from '../../../src/base/mail/line-check.js'

export function checkForm(raw: Buffer, limits: LineLimits): LineCheck {
  const steps = checkLinesInSteps(raw, limits)
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}
