/** One connection of the scripted sink: commands in, replies of the script out. */
import type { Socket } from 'node:net'
import { createSecureContext, type SecureContextOptions, TLSSocket } from 'node:tls'
import type { ScriptedSink, SinkStage } from './scripted-sink.js'
import { SinkReader } from './sink-reader.js'

const friendlyExtensions = ['PIPELINING', 'SIZE 36700160', '8BITMIME', 'ENHANCEDSTATUSCODES', 'SMTPUTF8', 'DSN']

export class SinkSession {
  private readonly sink: ScriptedSink
  private readonly raw: Socket
  private readonly number: number
  private socket: Socket
  private reader = new SinkReader()
  private busy = false
  private taken = 0
  private mailFrom = ''
  private rcptTo: string[] = []

  constructor(sink: ScriptedSink, socket: Socket, number: number) {
    this.sink = sink
    this.raw = this.socket = socket
    this.number = number
    socket.on('error', () => undefined)
  }

  async begin(): Promise<void> {
    if (this.sink.options.implicit === true) this.encrypt()
    else this.listen(this.socket)
    this.busy = true
    await this.answer('banner', '', '220 sink.test ESMTP')
    this.busy = false
    await this.work()
  }

  private listen(socket: Socket): void {
    socket.on('data', (chunk: Buffer) => {
      this.sink.pipelined += Math.max(0, this.reader.add(chunk) - 1)
      void this.work()
    })
  }

  /** One command at a time, in order of arrival. */
  private async work(): Promise<void> {
    if (this.busy) return
    this.busy = true
    for (let unit = this.reader.next(); unit !== null; unit = this.reader.next()) {
      if (unit.kind === 'line') await this.command(unit.line)
      else await this.message(unit.raw)
      this.sink.notifyWaiters()
    }
    this.busy = false
  }

  private async command(line: string): Promise<void> {
    this.sink.commands.push(line)
    const [verb = '', ...rest] = line.split(' ')
    switch (verb.toUpperCase()) {
      case 'EHLO':
        return void (await this.answer('ehlo', line, this.hello()))
      case 'HELO':
        return void (await this.answer('helo', line, '250 sink.test'))
      case 'STARTTLS':
        if ((await this.answer('starttls', line, '220 2.0.0 go ahead')) === 2) this.encrypt()
        return
      case 'AUTH':
        return this.authenticate(line, rest[0]?.toUpperCase() === 'LOGIN')
      case 'MAIL':
        return this.mail(line)
      case 'RCPT':
        if ((await this.answer('rcpt', line, this.mailFrom === '' ? '503 5.5.1 MAIL first' : '250 2.1.5 ok')) === 2) {
          this.rcptTo.push(line.slice('RCPT TO:'.length))
        }
        return
      case 'DATA':
        return this.data(line)
      case 'RSET':
        this.forget()
        return void (await this.answer('rset', line, '250 2.0.0 ok'))
      case 'QUIT':
        await this.answer('quit', line, '221 2.0.0 bye')
        this.socket.end()
        return
      default:
        this.say('500 5.5.2 what?')
    }
  }

  private async mail(line: string): Promise<void> {
    const friendly = this.mailFrom === '' ? '250 2.1.0 ok' : '503 5.5.1 nested MAIL'
    if ((await this.answer('mail', line, friendly)) === 2) this.mailFrom = line.slice('MAIL FROM:'.length)
  }

  private async data(line: string): Promise<void> {
    const friendly = this.rcptTo.length === 0 ? '554 5.5.1 no valid recipients' : '354 go ahead'
    if ((await this.answer('data', line, friendly)) === 3) this.reader.expectMessage()
  }

  private async message(raw: Buffer): Promise<void> {
    const message = { mailFrom: this.mailFrom, rcptTo: this.rcptTo, raw, tls: this.tls(), connection: this.number }
    const yes = (await this.answer('message', '', '250 2.0.0 taken')) === 2
    if (yes && message.rcptTo.length > 0) {
      this.sink.messages.push(message)
      this.taken++
    }
    this.forget()
  }

  private async authenticate(line: string, inSteps: boolean): Promise<void> {
    const words = [line]
    for (const prompt of inSteps ? ['VXNlcm5hbWU6', 'UGFzc3dvcmQ6'] : []) {
      this.say(`334 ${prompt}`)
      words.push(await this.nextLine())
    }
    await this.answer('auth', words.join(' '), '235 2.7.0 welcome')
  }

  private async nextLine(): Promise<string> {
    for (;;) {
      const unit = this.reader.next()
      if (unit?.kind === 'line') {
        this.sink.commands.push(unit.line)
        return unit.line
      }
      await this.next('data')
    }
  }

  private next(event: 'data' | 'close'): Promise<void> {
    return new Promise((resolve) => this.socket.once(event, () => resolve()))
  }

  private hello(): string {
    const { certificate, broken, extensions = friendlyExtensions } = this.sink.options
    const startTls = (certificate !== undefined || broken !== undefined) && this.tls() === null
    const lines = ['sink.test', ...extensions, ...(startTls ? ['STARTTLS'] : [])]
    return lines.map((line, index) => `250${index === lines.length - 1 ? ' ' : '-'}${line}`).join('\r\n')
  }

  /** Replies by the script, else with `friendly`; returns the first digit of the reply, 0 without one. */
  private async answer(stage: SinkStage, line: string, friendly: string): Promise<number> {
    const scripted = this.sink.options.script?.[stage] ?? friendly
    const question = { line, connection: this.number, taken: this.taken }
    const promised = typeof scripted === 'function' ? scripted(question) : scripted
    this.sink.notifyWaiters()
    const answer = await promised
    if (answer === 'hang') await this.next('close')
    else if (answer === 'drop') this.socket.end()
    else if (answer === 'reset') this.raw.resetAndDestroy()
    else return this.say(answer)
    return 0
  }

  private say(text: string): number {
    if (!this.socket.writable) return 0
    this.socket.write(`${text}\r\n`)
    if (text.startsWith('421')) this.socket.end()
    return Number(text[0])
  }

  private encrypt(): void {
    const { certificate, broken } = this.sink.options
    this.raw.removeAllListeners('data')
    this.reader = new SinkReader()
    if (broken === 'garbage') {
      this.raw.once('data', () => this.raw.write('this is not a handshake\r\n'))
      return
    }
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'ALL:@SECLEVEL=0' } as const
    const options: SecureContextOptions = { ...certificate, ...(broken === 'tls1.0' ? old : {}) }
    const socket = new TLSSocket(this.raw, { isServer: true, secureContext: createSecureContext(options) })
    socket.on('error', () => this.raw.destroy())
    this.socket = socket
    this.listen(socket)
  }

  private tls(): string | null {
    return this.socket instanceof TLSSocket ? this.socket.getProtocol() : null
  }

  private forget(): void {
    this.mailFrom = ''
    this.rcptTo = []
  }
}
