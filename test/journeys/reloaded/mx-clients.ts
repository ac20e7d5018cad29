/** Clients of the MX listener at any address, since a proxy that the daemon believes names it. */
import { idOfReply, inboundText } from '../../helpers/smtp/deliver-inbound.js'
import { type Dialogue, dial } from '../../helpers/smtp/smtp-dialogue.js'
import { waitUntil } from '../../helpers/wait-until.js'
import type { ReloadedDaemon } from './observation.js'

export const proxyLine = (client: string): string => `PROXY TCP4 ${client} 127.0.0.1 4711 25\r\n`

/** The MX listener of a daemon, which believes what we say about the client. */
export class MxClients {
  constructor(private readonly here: ReloadedDaemon) {}

  get port(): number {
    return this.here.app.daemon.mx[0]?.port ?? 0
  }

  /** An address that no other client has had. */
  newClient(): string {
    return `8.9.${this.here.next()}.7`
  }

  async greet(client = this.newClient()): Promise<Dialogue> {
    const session = await dial(this.port)
    await session.send(proxyLine(client))
    await session.readReply()
    return session
  }

  /** The reply to the last of these lines. */
  async ask(lines: readonly string[], client?: string): Promise<string> {
    const session = await this.greet(client)
    await session.sendCommand('EHLO mx.b.test')
    let reply = ''
    for (const line of lines) reply = await session.sendCommand(line)
    session.end()
    return reply
  }

  askRecipient(to: string, from: string, client?: string): Promise<string> {
    return this.ask([`MAIL FROM:<${from}>`, `RCPT TO:<${to}>`], client)
  }

  async deliver(mail: { readonly from: string; readonly client?: string }): Promise<string> {
    const text = inboundText({ from: mail.from, subject: `hello ${this.here.next()}` })
    const lines = [`MAIL FROM:<${mail.from}>`, 'RCPT TO:<info@home.test>', 'DATA', `${text}.`]
    return this.ask(lines, mail.client)
  }

  /** Delivers a report to a return path, and waits until it was read. */
  async report(path: string, raw: string): Promise<void> {
    idOfReply(await this.ask(['MAIL FROM:<>', `RCPT TO:<${path}>`, 'DATA', `${raw}.`]))
    const waiting = "select 1 from inbound_emails where kind = 'report' and status = 'received'"
    await waitUntil('the report was read', async () => (await this.here.app.rows(waiting)).length === 0)
  }
}
