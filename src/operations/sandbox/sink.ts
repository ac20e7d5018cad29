/**
 * A small SMTP server that accepts all mail, stores each message as a file, and reports it.
 *
 * It prepends the fields of a final delivery: Return-Path (RFC 5321 section 4.4), Delivered-To, and
 * Authentication-Results (RFC 8601) with the DKIM verdict. The rest of the message is unchanged.
 *
 * To show refusals, it replies 550 to `bounce@` any domain, and 451 to `defer@`.
 * Known limit: messages are held in memory while they arrive, and are not synced to disk.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { simpleParser } from 'mailparser'
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'
import type { ListenAddress } from '../../base/config/network-values.js'
import { type Clock, formatTimestamp } from '../../base/platform/clock.js'
import { toError } from '../../base/platform/errors.js'
import type { SampleDkimVerdict } from './dkim-verdict.js'

export interface SandboxArrival {
  readonly to: readonly string[]
  readonly subject: string
  readonly verdict: SampleDkimVerdict
  /** The file's name in the folder. */
  readonly file: string
}

interface SinkParts {
  readonly listen: ListenAddress
  /** PEM texts. */
  readonly tls: { readonly cert: string; readonly key: string }
  /** The folder for the files, created if it does not exist. */
  readonly folder: string
  readonly verifyDkim: (raw: Buffer, now: number) => Promise<SampleDkimVerdict>
  readonly clock: Clock
  readonly onArrival: (arrival: SandboxArrival) => void
}

interface Sink {
  readonly stop: () => Promise<void>
}

const HOSTNAME = 'sink.example.test'
/** Milliseconds for open sessions to end. */
const CLOSE_TIMEOUT = 1000

export async function openSink(parts: SinkParts): Promise<Sink> {
  await mkdir(parts.folder, { recursive: true, mode: 0o700 })
  const server = new SMTPServer(serverOptions(parts))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(parts.listen, resolve)
  })
  server.removeAllListeners('error')
  // The sender reports a broken session; the sink goes on.
  server.on('error', () => undefined)
  return { stop: () => new Promise((resolve) => server.close(resolve)) }
}

function serverOptions(parts: SinkParts): SMTPServerOptions {
  let count = 0
  return {
    ...parts.tls,
    name: HOSTNAME,
    banner: 'sink',
    authOptional: true,
    disabledCommands: ['AUTH'],
    disableReverseLookup: true,
    closeTimeout: CLOSE_TIMEOUT,
    logger: false,
    onRcptTo: ({ address }, _session, done) => done(refusalOf(address)),
    onData: (stream, session, done) => {
      count += 1
      storeMessage(parts, stream, session, count).then(
        (name) => done(null, `2.0.0 kept as ${name}`),
        (error: unknown) => done(toError(error)),
      )
    },
  }
}

const refusals: Readonly<Record<string, readonly [code: number, text: string]>> = {
  bounce: [550, '5.1.1 No such mailbox'],
  defer: [451, '4.2.1 The mailbox is busy, try again later'],
}

function refusalOf(address: string): Error | null {
  const [localPart = ''] = address.toLowerCase().split('@')
  const [responseCode, text] = refusals[localPart] ?? []
  return text === undefined ? null : Object.assign(new Error(text), { responseCode })
}

/** Resolves to the file's name. */
async function storeMessage(
  parts: SinkParts,
  stream: Readable,
  session: SMTPServerSession,
  count: number,
): Promise<string> {
  const raw = await buffer(stream)
  const at = parts.clock()
  const verdict = await parts.verifyDkim(raw, at)
  const { mailFrom, rcptTo } = session.envelope
  const from = mailFrom === false ? '' : mailFrom.address
  const to = rcptTo.map(({ address }) => address)
  const name = `${formatTimestamp(at).replaceAll(':', '')}-${count}.eml`
  await writeFile(join(parts.folder, name), Buffer.concat([Buffer.from(deliveryFields(from, to, verdict)), raw]), {
    mode: 0o600,
  })
  parts.onArrival({ to, subject: await readSubject(raw), verdict, file: name })
  return name
}

function deliveryFields(from: string, to: readonly string[], { result, signature }: SampleDkimVerdict): string {
  const dkim = signature === null ? result : `${result} header.d=${signature.domain} header.s=${signature.selector}`
  return [
    `Return-Path: <${from}>`,
    ...to.map((address) => `Delivered-To: ${address}`),
    `Authentication-Results: ${HOSTNAME}; dkim=${dkim}`,
    '',
  ].join('\r\n')
}

/** mailparser reads it, so that a fault of our own reader cannot hide here. */
async function readSubject(raw: Buffer): Promise<string> {
  const { subject = '' } = await simpleParser(raw, { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true })
  return subject
}
