/**
 * Refuses a message whose lines are not of the form that every server understands alike, and one
 * that has been through so many servers that it must be going in circles (RFC 5321 section 6.3).
 */
import { setImmediate as turn } from 'node:timers/promises'
import { assertNever } from '../mail/assert-never.js'
import { findFields, type Header } from '../mail/header-fields.js'
import { checkLinesInSteps, type LineCheck } from '../mail/line-check.js'
import { Refusal } from '../mail/refusal.js'
import { ProtocolFault } from './protocol-fault.js'

const MAX_RECEIVED = 50

/** In steps, between which others have their turn. */
export async function checkLines(raw: Buffer, lineOctets: number): Promise<void> {
  const form = await scanForm(raw, lineOctets)
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

async function scanForm(raw: Buffer, maxLineOctets: number): Promise<LineCheck> {
  const steps = checkLinesInSteps(raw, { maxLineOctets })
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    await turn()
  }
}

export function checkHops(header: Header): void {
  const hops = findFields(header, 'received').length
  if (hops > MAX_RECEIVED) {
    throw new ProtocolFault(550, '5.4.6', `${hops} Received fields, at most ${MAX_RECEIVED} are allowed: a mail loop`)
  }
}
