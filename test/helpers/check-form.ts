/** The form of a message's lines, in one go. */
import { type LineLimits, checkLinesInSteps, type LineCheck } from '../../src/mail/message-form.js'

export function checkForm(raw: Buffer, limits: LineLimits): LineCheck {
  const steps = checkLinesInSteps(raw, limits)
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}
