/**
 * Submits a sample message over SMTP the way an application does: STARTTLS with a verified certificate, AUTH with the
 * key. Also waits for the outcome of a sample, however it was submitted.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createTransport } from 'nodemailer'
import type { ListenAddress } from '../../base/config/network-values.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { detailsOfAnyWorkspace, type EmailDetails } from '../../records/messages/email-details.js'
import { CannotStart } from './cannot-start.js'
import { DOMAIN } from './paths.js'

const MAX_WAIT = 15_000
const POLL_INTERVAL = 20

export interface SubmissionServer {
  readonly listen: ListenAddress
  /** PEM text that the client trusts. */
  readonly ca: string
  readonly key: string
}

/** Returns the id of the email. */
export async function submitBySmtp({ listen, ca, key }: SubmissionServer): Promise<string> {
  const transport = createTransport({
    ...listen,
    requireTLS: true,
    tls: { ca, servername: `mail.${DOMAIN}` },
    auth: { user: 'quickstart', pass: key },
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const sample = {
    from: `Posthorn <quickstart@${DOMAIN}>`,
    to: `you@${DOMAIN}`,
    subject: 'It works',
    text: 'You submitted this message over SMTP. Posthorn queued it, signed it and delivered it to the sink.\n',
  }
  const { response } = await transport.sendMail(sample).catch(rethrowRefusal)
  const id = /queued as (\S+)/.exec(response)?.[1]
  if (id === undefined) throw new CannotStart(`the sample by SMTP was answered without an id: ${response}`)
  return id
}

/** A full disk is the likely refusal on a small machine, and gets a text that says what to do. */
function rethrowRefusal(error: Error): never {
  if (!/4\.3\.1/.test(error.message)) throw error
  return throwDiskFull()
}

export function throwDiskFull(): never {
  throw new CannotStart('the disk of the data folder is nearly full: free some of it, 5 % and 1 GiB must remain')
}

/** The history of the email once it is settled, or as it is after 15 s or when `signal` is aborted. */
export async function waitUntilSettled(
  read: Read,
  id: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<EmailDetails> {
  const until = clock() + MAX_WAIT
  for (;;) {
    const story = await detailsOfAnyWorkspace(read, id)
    if (story === null) throw new CannotStart(`the sample ${id} is not in the database`)
    if (story.status !== 'queued' || signal.aborted || clock() >= until) return story
    await sleep(POLL_INTERVAL)
  }
}
