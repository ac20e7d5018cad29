/** Submits small messages from a network that needs no AUTH, one after the other in a session. */
import { type Dialogue, dial } from '../../helpers/smtp/smtp-dialogue.js'

/** Greeted, and ready for MAIL. */
export async function openSession(port: number): Promise<Dialogue> {
  const session = await dial(port)
  await session.readReply()
  await session.sendCommand('EHLO client.test')
  return session
}

/** Up to the 354. */
export async function beginMessage(session: Dialogue, to: string): Promise<void> {
  await session.send(`MAIL FROM:<app@sender.test>\r\nRCPT TO:<${to}>\r\nDATA\r\n`)
  const [, , go] = await session.readReplies(3)
  if (go?.startsWith('354') !== true) throw new Error(`no 354 but ${go}`)
}

/** Its mark is in the Subject; `fields`: more of them, each with its line end. */
function smallMessage(mark: string, fields = ''): string {
  return `From: app@sender.test\r\nSubject: ${mark}\r\n${fields}\r\nsome text\r\n.\r\n`
}

/** Resolves to the reply to the final dot. */
export async function submit(session: Dialogue, to: string, fields = ''): Promise<string> {
  await beginMessage(session, to)
  return session.sendCommand(smallMessage(to, fields).slice(0, -2))
}

/** Throws if it is not a 250. */
export function emailIdOf(reply: string): string {
  const id = /^250 2\.0\.0 Ok: queued as (\S+)$/.exec(reply)?.[1]
  if (id === undefined) throw new Error(`not accepted: ${reply}`)
  return id
}
