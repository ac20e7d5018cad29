/** Refuses a message with lines that servers could read in different ways (SMTP smuggling), or that are too long. */
import { assertNever } from '../../mail/assert-never.js'
import { checkLinesInSteps, type LineCheck } from '../../mail/line-check.js'
import { Refusal } from '../../mail/refusal.js'
import { sharedTurns } from '../../platform/shared-turns.js'

/** In steps that share the turns of the event loop with those of other messages. */
export async function checkLines(raw: Buffer, maxLineOctets: number): Promise<void> {
  const form = await scanForm(raw, maxLineOctets)
  switch (form.kind) {
    case 'ok':
      return
    case 'bare-line-break':
      throw new Refusal('bare-line-break', `bare CR, bare LF or NUL in line ${form.line} of the message`)
    case 'line-too-long':
      throw new Refusal(
        'line-too-long',
        `line ${form.line} has ${form.octets} octets, at most ${maxLineOctets} are allowed`,
      )
    default:
      assertNever(form)
  }
}

async function scanForm(raw: Buffer, maxLineOctets: number): Promise<LineCheck> {
  const steps = checkLinesInSteps(raw, { maxLineOctets })
  for (;;) {
    const { done, value } = await sharedTurns.take(() => steps.next())
    if (done === true) return value
  }
}
