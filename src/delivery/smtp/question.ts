/** One command and the answer to it, as a value: yes, or what is the trouble. */
import { replyLine } from '../../mail/reply.js'
import type { Stage } from '../../messages/replies/classify-reply.js'
import type { Trouble } from './outcome.js'
import type { Heard } from './reply-parser.js'
import type { Wire, WireFailure } from './wire.js'

export type Answer = { readonly kind: 'yes'; readonly heard: Heard } | Trouble

export interface Question {
  readonly stage: Stage
  /** The first digit of a yes. */
  readonly yes: 2 | 3
  readonly timeout: number
}

/** Says `command` (`shown` in its place in the transcript, where it holds a secret) and waits for the answer. */
export async function ask(wire: Wire, command: string, question: Question, shown = command): Promise<Answer> {
  wire.transcript.sent(shown)
  wire.say([command])
  return hear(wire, question)
}

/** The next answer. Neither yes nor no, or a greeting of death: the wire ends. */
export async function hear(wire: Wire, { stage, yes, timeout }: Question): Promise<Answer> {
  const arrival = await wire.reply(timeout)
  if (arrival.kind === 'failed') return failed(stage, arrival.why)
  const { heard } = arrival
  const { code } = heard.reply
  wire.transcript.heard(replyLine(heard.reply))
  if (Math.floor(code / 100) === yes) return { kind: 'yes', heard }
  if (code >= 400) return { kind: 'refused', stage, reply: heard.reply }
  const why: WireFailure = { failure: 'protocol', detail: `unexpected reply: ${replyLine(heard.reply)}` }
  wire.fail(why)
  return failed(stage, why)
}

export function failed(stage: Stage, { failure, detail }: WireFailure): Trouble {
  return { kind: 'failed', stage, failure, detail }
}
