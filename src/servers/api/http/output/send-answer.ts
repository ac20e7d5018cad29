/** Sends what a route answers, in the way of its kind. */
import type { Answer, FileAnswer, StreamAnswer } from '../answer.js'
import type { ApiContext } from '../context/api-context.js'
import { sendFile } from './file-answer.js'
import { hasLargeText, stringifyInSteps } from './json-in-steps.js'
import type { LargeAnswers, LargeReply } from './large-answer.js'
import { HTML_TYPE, JSON_TYPE } from './send-reply.js'
import { type StreamLimits, sendStream } from './stream-answer.js'

export class AnswerSender {
  constructor(
    private readonly large: LargeAnswers,
    private readonly streamLimits: StreamLimits,
  ) {}

  async send(ctx: ApiContext, answer: Answer): Promise<void> {
    if ('emails' in answer && answer.emails !== undefined) ctx.state.emails = answer.emails
    if (answer.kind === 'stream') return sendStream(ctx, answer, this.streamLimits)
    if (answer.kind === 'file') return sendFile(ctx, answer, this.streamLimits)
    if (answer.kind === 'json' && hasLargeText(answer.body)) {
      const { status, body, headers = {} } = answer
      return this.large.send(ctx, { status, type: JSON_TYPE, payload: await stringifyInSteps(body), headers })
    }
    return this.large.send(ctx, replyOf(answer))
  }
}

function replyOf(answer: Exclude<Answer, StreamAnswer | FileAnswer>): LargeReply {
  switch (answer.kind) {
    case 'json':
      return {
        ...{ status: answer.status, type: JSON_TYPE, payload: JSON.stringify(answer.body) },
        headers: answer.headers ?? {},
      }
    case 'text':
      return { status: answer.status, type: JSON_TYPE, payload: answer.json }
    case 'bytes':
      return { status: 200, type: answer.type, payload: answer.bytes, headers: answer.headers ?? {} }
    case 'redirect':
      return {
        ...{ status: 302, type: null, payload: '' },
        headers: { Location: answer.location, 'Content-Length': '0', ...answer.headers },
      }
    case 'page':
      return { status: answer.status, type: HTML_TYPE, payload: answer.html, headers: answer.headers }
    case 'nothing':
      return { status: answer.status ?? 204, type: null, payload: '', headers: headersOfNothing(answer) }
  }
}

/** Only 204 says by itself that it has no body (RFC 9110 section 8.6). */
function headersOfNothing({
  status = 204,
  headers = {},
}: Extract<Answer, { kind: 'nothing' }>): Readonly<Record<string, string>> {
  return status === 204 ? headers : { 'Content-Length': '0', ...headers }
}
