/** The form of a message's lines, in one go. */
import { type FormLimits, formInSteps, type MessageForm } from '../../src/mail/message-form.js'

export function checkForm(raw: Buffer, limits: FormLimits): MessageForm {
  const steps = formInSteps(raw, limits)
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}
