/** A transport for nodemailer: `createTransport(new PosthornTransport({ url, key }))` sends over the REST API. */
import { createHash } from 'node:crypto'
import { Connection, type ConnectionOptions } from './connection.js'

/** What nodemailer hands to a transport. */
interface ComposedMail {
  readonly message: {
    readonly getEnvelope: () => { readonly from?: string | false; readonly to?: readonly string[] }
    readonly messageId: () => string
    readonly createReadStream: () => AsyncIterable<Uint8Array | string>
  }
}

export interface SentMail {
  /** The id of the email in Posthorn. */
  readonly id: string
  /** The Message-ID. */
  readonly messageId: string
  readonly envelope: { readonly from: string | false; readonly to: string[] }
  readonly accepted: string[]
  readonly rejected: string[]
  readonly response: string
}

export class PosthornTransport {
  readonly name = 'Posthorn'
  readonly version = '1.0.0'
  private readonly connection: Connection

  constructor(options: ConnectionOptions) {
    this.connection = new Connection(options)
  }

  /** Called by nodemailer. */
  send(mail: ComposedMail, done: (error: Error | null, sent?: SentMail) => void): void {
    this.post(mail).then(
      (sent) => done(null, sent),
      (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
    )
  }

  private async post({ message }: ComposedMail): Promise<SentMail> {
    const { from = false, to = [] } = message.getEnvelope()
    const messageId = message.messageId()
    const chunks: Uint8Array[] = []
    for await (const chunk of message.createReadStream()) chunks.push(Buffer.from(chunk))
    const answer = await this.connection.request({
      ...{ method: 'POST', path: '/v1/emails', contentType: 'message/rfc822', body: Buffer.concat(chunks) },
      query: { from: from === false || from === '' ? undefined : from, to },
      idempotencyKey: keyOf([messageId, from || '', ...to]),
    })
    const { id } = answer as { readonly id: string }
    const all = [...to]
    return { id, messageId, envelope: { from, to: all }, accepted: all, rejected: [], response: `accepted as ${id}` }
  }
}

/** A message with the same Message-ID to the same recipients is sent once, also if the program calls nodemailer again. */
function keyOf(parts: readonly string[]): string {
  return `nodemailer-${createHash('sha256').update(parts.join('\n')).digest('hex')}`
}
