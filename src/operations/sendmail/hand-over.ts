/**
 * Hands a message to the submission listener, over TLS where the server offers it. The certificate is verified, except on
 * loopback, where the server's own may be self-signed.
 */
import { hostname } from 'node:os'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { isLoopback } from '../../base/platform/ip-address.js'
import { type ExitCode, exitCodes, SendmailFault } from './exit-codes.js'
import type { SendmailSettings } from './settings.js'

export interface OutgoingMessage {
  /** Empty for the null sender. */
  readonly sender: string
  readonly recipients: readonly string[]
  readonly raw: Buffer
}

/** Milliseconds. Programs such as cron wait for the answer. */
const CONNECT_TIMEOUT = 10_000
const ANSWER_TIMEOUT = 60_000

type Phase = 'connection' | 'login' | 'message'

/** What the server says of the recipients that it does not take. The others have the message. */
export interface HandedOver {
  /** Those which the server takes at another time. */
  readonly deferred: readonly string[]
  readonly faults: readonly SendmailFault[]
}

/**
 * Resolves once the server has accepted the message, or has refused each recipient. Throws a SendmailFault if it takes
 * the message for none: `temporaryFailure` if the server is away or asks to come again.
 */
export async function handOver(settings: SendmailSettings, message: OutgoingMessage): Promise<HandedOver> {
  const isLocal = settings.host === 'localhost' || isLoopback(settings.host)
  const connection = new SMTPConnection({
    ...{ host: settings.host, port: settings.port, name: hostname() },
    ...{ connectionTimeout: CONNECT_TIMEOUT, greetingTimeout: CONNECT_TIMEOUT, socketTimeout: ANSWER_TIMEOUT },
    allowInternalNetworkInterfaces: true,
    requireTLS: settings.key !== null && !isLocal,
    tls: { rejectUnauthorized: !isLocal },
  })
  // After the last reply the server may close the connection at any time.
  connection.on('error', () => undefined)
  try {
    await step(connection, 'connection', (done) => connection.connect(done))
    const { key } = settings
    if (key !== null)
      await step(connection, 'login', (done) =>
        connection.login({ user: 'sendmail', pass: key, method: 'PLAIN' }, done),
      )
    return describeRejections(await sendTo(connection, message))
  } finally {
    connection.quit()
  }
}

/** Resolves to the recipients that were refused, also if these are all. */
async function sendTo(
  connection: SMTPConnection,
  { sender, recipients, raw }: OutgoingMessage,
): Promise<readonly SmtpError[]> {
  const from = sender === '' ? (false as const) : sender
  const envelope = { from, to: [...recipients], size: raw.length, use8BitMime: true }
  const rejections = await step<readonly SmtpError[]>(connection, 'message', (done) =>
    connection.send(envelope, raw, (error, sent) => {
      const rejected = (error ?? sent)?.rejectedErrors ?? []
      if (error && rejected.length === 0) done(error)
      else done(null, rejected)
    }),
  )
  return rejections ?? []
}

interface SmtpError extends Error {
  readonly code?: string | undefined
  readonly responseCode?: number | undefined
  readonly command?: string | undefined
  readonly recipient?: string | undefined
}

function describeRejections(rejections: readonly SmtpError[]): HandedOver {
  const isDeferral = (one: SmtpError): boolean => exitCodeOf(one, 'message') === exitCodes.temporaryFailure
  return {
    deferred: rejections.filter(isDeferral).flatMap(({ recipient }) => recipient ?? []),
    faults: rejections.map((one) => toFault(one, 'message')),
  }
}

type Done<Value> = (error?: Error | null, value?: Value) => void

/** An error of the socket ends the step too. */
function step<Value>(
  connection: SMTPConnection,
  phase: Phase,
  act: (done: Done<Value>) => void,
): Promise<Value | undefined> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(toFault(error, phase))
    connection.once('error', fail)
    act((error, value) => {
      connection.off('error', fail)
      if (error != null) fail(error)
      else resolve(value)
    })
  })
}

function toFault(error: SmtpError, phase: Phase): SendmailFault {
  if (error instanceof SendmailFault) return error
  return new SendmailFault(exitCodeOf(error, phase), error.message, phase === 'connection')
}

function exitCodeOf({ code = '', responseCode = 0, command = '' }: SmtpError, phase: Phase): ExitCode {
  // The client itself refuses a message that is larger than the server takes, and addresses with control characters.
  if (responseCode === 0 && (code === 'EMESSAGE' || code === 'EENVELOPE')) return exitCodes.dataError
  if (responseCode < 500) return exitCodes.temporaryFailure
  if (phase === 'login' || responseCode === 530) return exitCodes.noPermission
  if (command.startsWith('RCPT')) return exitCodes.noUser
  if (command.startsWith('MAIL') && responseCode === 552) return exitCodes.dataError
  return command.startsWith('DATA') ? exitCodes.dataError : exitCodes.unavailable
}
