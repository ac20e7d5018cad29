/**
 * One message in at the SMTP door, as any app would hand it in: STARTTLS with a verified
 * certificate, AUTH with the key. Then the wait for what becomes of a sample of any door.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createTransport } from 'nodemailer'
import type { Listen } from '../config/places.js'
import { type EmailStory, storyOfAnyWorkspace } from '../messages/email-story.js'
import type { Clock } from '../platform/clock.js'
import type { Read } from '../storage/prepared.js'
import { CannotStart } from './cannot-start.js'
import { DOMAIN } from './places.js'

const WAIT = 15_000
const LOOK = 20

export interface Door {
  readonly listen: Listen
  /** PEM text that the client trusts. */
  readonly ca: string
  readonly key: string
}

/** The id of the email. */
export async function submitBySmtp({ listen, ca, key }: Door): Promise<string> {
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
    text: 'Handed in over SMTP, kept in the queue, signed, and delivered to the sink.\n',
  }
  const { response } = await transport.sendMail(sample).catch(refused)
  const id = /queued as (\S+)/.exec(response)?.[1]
  if (id === undefined) throw new CannotStart(`the sample by SMTP was answered without an id: ${response}`)
  return id
}

/** The refusal that a small machine may well meet gets its mend. */
function refused(error: Error): never {
  if (!/4\.3\.1/.test(error.message)) throw error
  return noRoom()
}

export function noRoom(): never {
  throw new CannotStart('the disk of the data folder is nearly full: free some of it, 5 % and 1 GiB must remain')
}

/** Its story once it is settled; as it stands when that takes too long or `signal` strikes. */
export async function settledStory(read: Read, id: string, clock: Clock, signal: AbortSignal): Promise<EmailStory> {
  const until = clock() + WAIT
  for (;;) {
    const story = storyOfAnyWorkspace(read, id)
    if (story === null) throw new CannotStart(`the sample ${id} is not in the database`)
    if (story.status !== 'queued' || signal.aborted || clock() >= until) return story
    await sleep(LOOK)
  }
}
