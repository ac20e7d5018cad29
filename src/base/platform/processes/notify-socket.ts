/**
 * Tells systemd the state of the daemon (sd_notify(3)): datagrams to the Unix socket that NOTIFY_SOCKET names.
 *
 * The package koffi calls `sendto` of the C library from this process, so the unit needs no `NotifyAccess=` beyond its
 * default. A send is one system call that never waits. A failure is logged once, and the daemon goes on.
 */
import { createRequire } from 'node:module'
import { getSystemErrorName } from 'node:util'
import type { Log } from '../log.js'

interface NotifySocket {
  /** Lines such as `READY=1`, in one datagram. */
  readonly send: (...lines: readonly string[]) => void
  readonly close: () => void
}

/** The numbers of Linux: AF_UNIX; SOCK_DGRAM with SOCK_CLOEXEC and SOCK_NONBLOCK; MSG_NOSIGNAL. */
const FAMILY = 1
const TYPE = 2 | 0o2000000 | 0o4000
const FLAGS = 0x4000
/** Bytes of a path in `sockaddr_un` (unix(7)). */
const MAX_PATH = 107

/** The functions of the C library; each answers -1 where it fails, and `errno` says why. */
interface SystemCalls {
  readonly socket: (domain: number, type: number, protocol: number) => number
  readonly sendto: (
    socket: number,
    content: Buffer,
    length: number,
    flags: number,
    address: Buffer,
    size: number,
  ) => number
  readonly close: (socket: number) => number
  readonly errno: () => number
}

/** `path` is the value of NOTIFY_SOCKET. If it is null, systemd has not started the process, and nothing is sent. */
export function openNotifySocket(path: string | null, log: Pick<Log, 'warn'>): NotifySocket {
  if (path === null) return { send: () => undefined, close: () => undefined }
  let hasFailed = false
  const report = (error: unknown): void => {
    const text = error instanceof Error ? error.message : String(error)
    if (!hasFailed) log.warn({ error: text, socket: path }, 'systemd cannot be notified')
    hasFailed = true
  }
  try {
    return openSocket(path, report)
  } catch (error) {
    report(error)
    return { send: () => undefined, close: () => undefined }
  }
}

function openSocket(path: string, report: (error: unknown) => void): NotifySocket {
  const address = encodeAddress(path)
  const calls = loadSystemCalls()
  const socket = calls.socket(FAMILY, TYPE, 0)
  if (socket < 0) throw new Error(`no socket: ${nameError(calls)}`)
  return {
    send: (...lines) => {
      const content = Buffer.from(lines.map((line) => `${line.replaceAll('\n', ' ')}\n`).join(''))
      const sent = calls.sendto(socket, content, content.length, FLAGS, address, address.length)
      if (sent < 0) report(`not sent: ${nameError(calls)}`)
    },
    close: () => void calls.close(socket),
  }
}

/** `sockaddr_un`: the family, then a path, or a name in the abstract namespace, which begins with a zero byte. */
function encodeAddress(path: string): Buffer {
  if (!/^[/@]./.test(path)) throw new Error('allowed: a path from the root, or a name that begins with @')
  const name = Buffer.from(path.startsWith('@') ? `\0${path.slice(1)}` : path)
  if (name.length > MAX_PATH) throw new Error(`the address is longer than ${MAX_PATH} bytes`)
  const address = Buffer.alloc(2 + name.length + (path.startsWith('/') ? 1 : 0))
  address.writeUInt16LE(FAMILY)
  name.copy(address, 2)
  return address
}

/** The name of the error, such as ECONNREFUSED. */
function nameError({ errno }: SystemCalls): string {
  return getSystemErrorName(-errno())
}

/** Loaded only where systemd listens. */
function loadSystemCalls(): SystemCalls {
  const koffi: typeof import('koffi') = createRequire(import.meta.url)('koffi')
  // It loads the symbols of the program itself, which has the C library.
  const library = koffi.load(null)
  return {
    socket: library.func('int socket(int domain, int type, int protocol)'),
    sendto: library.func(
      'intptr_t sendto(int socket, const void *content, size_t length, int flags, const void *address, uint32_t size)',
    ),
    close: library.func('int close(int socket)'),
    errno: () => koffi.errno(),
  }
}
