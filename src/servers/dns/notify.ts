/**
 * Notifies secondaries that the zone has changed (NOTIFY, RFC 1996), so that they need not wait for the refresh
 * interval.
 *
 * The serial is checked every second, so that many changes make one NOTIFY. It is repeated to a server that
 * does not answer; after the last try the server finds out at its refresh. All are notified at the start.
 */
import { randomInt } from 'node:crypto'
import { AUTHORITATIVE_ANSWER, encode } from 'dns-packet'
import { type DnsServer, DnsTransport } from '../../base/platform/dns/transport.js'
import type { Log } from '../../base/platform/log.js'
import type { ServiceZone } from '../../workspaces/domains/zone/zone.js'

interface NotifierDeps {
  readonly zone: ServiceZone
  /** The servers to notify. */
  readonly notify: readonly DnsServer[]
  readonly log: Pick<Log, 'error' | 'warn'>
}

const CHECK_INTERVAL = 1000
/** Milliseconds to wait for the answer to each try. */
const NOTIFY_TIMEOUTS = [2000, 4000, 8000, 16_000]

/** A check that takes longer than the interval delays the next one. `stop` resolves when none is under way. */
export function startNotifier({ zone, notify, log }: NotifierDeps): { readonly stop: () => Promise<void> } {
  const transport = new DnsTransport()
  let [notifiedSerial, stopped] = [-1, false]

  async function notifyServer(server: DnsServer, serial: number): Promise<void> {
    const message = buildNotify(zone.name)
    const accepts = (reply: Buffer): boolean => isAnswerTo(message, reply)
    for (const timeout of NOTIFY_TIMEOUTS) {
      // A newer serial has another loop.
      if (stopped || notifiedSerial !== serial) return
      const outcome = await transport.overUdp(server, message, { timeout, accepts })
      if ('reply' in outcome) return
    }
    if (!stopped) log.warn({ server: server.address, serial }, 'a secondary of the service zone does not answer')
  }

  async function checkForChange(): Promise<void> {
    try {
      const serial = await zone.readSerial()
      if (stopped || serial === notifiedSerial) return
      notifiedSerial = serial
      for (const server of notify) void notifyServer(server, serial)
    } catch (error) {
      log.error({ err: error }, 'the serial of the service zone cannot be read')
    }
  }

  let check: Promise<void> | null = null
  const beginCheck = (): void => {
    check ??= checkForChange().finally(() => {
      check = null
    })
  }
  beginCheck()
  const timer = setInterval(beginCheck, CHECK_INTERVAL)
  return {
    stop: async () => {
      stopped = true
      clearInterval(timer)
      transport.cancel()
      await check
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
