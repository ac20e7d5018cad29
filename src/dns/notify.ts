/**
 * Tells secondaries that the zone has changed (NOTIFY, RFC 1996), so that they need not wait for the refresh time.
 *
 * The serial is looked at every second, so many changes at once are told once. A server that does not answer is
 * told again a few times; after that it finds out by itself. At the start all are told.
 */
import { randomInt } from 'node:crypto'
import { AUTHORITATIVE_ANSWER, encode } from 'dns-packet'
import type { ServiceZone } from '../domains/zone/zone.js'
import { createDnsTransport, type DnsServer } from '../platform/dns/transport.js'
import type { Log } from '../platform/log.js'

export interface NotifierDeps {
  readonly zone: ServiceZone
  /** The servers to notify. */
  readonly notify: readonly DnsServer[]
  readonly log: Pick<Log, 'error' | 'warn'>
}

const CHECK_INTERVAL = 1000
/** Milliseconds that an answer is waited for, one try after the other. */
const NOTIFY_TIMEOUTS = [2000, 4000, 8000, 16_000]

export function startNotifier({ zone, notify, log }: NotifierDeps): { readonly stop: () => void } {
  const exchanges = createDnsTransport()
  let [told, stopped] = [-1, false]

  async function notifyServer(server: DnsServer, serial: number): Promise<void> {
    const message = buildNotify(zone.name)
    const accepts = (reply: Buffer): boolean => isAnswerTo(message, reply)
    for (const timeout of NOTIFY_TIMEOUTS) {
      // Of a newer serial they are told by somebody else.
      if (stopped || told !== serial) return
      const outcome = await exchanges.overUdp(server, message, { timeout, accepts })
      if ('reply' in outcome) return
    }
    if (!stopped) log.warn({ server: server.address, serial }, 'a secondary of the service zone does not answer')
  }

  function checkForChange(): void {
    try {
      const serial = zone.readSerial()
      if (serial === told) return
      told = serial
      for (const server of notify) void notifyServer(server, serial)
    } catch (error) {
      log.error({ err: error }, 'the serial of the service zone cannot be read')
    }
  }

  checkForChange()
  const timer = setInterval(checkForChange, CHECK_INTERVAL)
  return {
    stop: () => {
      stopped = true
      clearInterval(timer)
      exchanges.cancel()
    },
  }
}

const NOTIFY_OPCODE = 4

function buildNotify(name: string): Buffer {
  const flags = (NOTIFY_OPCODE << 11) | AUTHORITATIVE_ANSWER
  return encode({ type: 'query', id: randomInt(0x1_0000), flags, questions: [{ type: 'SOA', name }] })
}

function isAnswerTo(message: Buffer, reply: Buffer): boolean {
  if (reply.length < 12 || reply.readUInt16BE(0) !== message.readUInt16BE(0)) return false
  const flags = reply.readUInt16BE(2)
  return (flags & 0x8000) !== 0 && ((flags >> 11) & 15) === NOTIFY_OPCODE
}
