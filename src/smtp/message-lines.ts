/** Refuses a message whose lines are not of the form that every server understands alike. */
import { assertNever } from '../mail/assert-never.js'
import { checkForm } from '../mail/message-form.js'
import { Refusal } from '../mail/refusal.js'

export function checkLines(raw: Buffer, lineOctets: number): void {
  const form = checkForm(raw, { lineOctets })
  switch (form.kind) {
    case 'ok':
      return
    case 'bare-line-break':
      throw new Refusal('bare-line-break', `bare CR, bare LF or NUL in line ${form.line} of the message`)
    case 'line-too-long':
      throw new Refusal(
        'line-too-long',
        `line ${form.line} has ${form.octets} octets, at most ${lineOctets} are allowed`,
      )
    default:
      assertNever(form)
  }
}
