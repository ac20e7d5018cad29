/**
 * The URL of a PostgreSQL database as libpq has it: several hosts, sockets, and parameters.
 *
 * Neither the URL class of Node.js nor pg reads several hosts.
 */
import { isIP } from 'node:net'

export const DEFAULT_SOCKET_FOLDER = '/var/run/postgresql'
const DEFAULT_PORT = 5432

const TLS_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'] as const
export type TlsMode = (typeof TLS_MODES)[number]

export interface HostAddress {
  /** A name, an address or, beginning with a slash, the folder of a socket. */
  readonly host: string
  readonly port: number
}

interface ConnectionUrl {
  readonly hosts: readonly HostAddress[]
  readonly user: string | undefined
  readonly password: string | undefined
  readonly database: string | undefined
  /** Undefined if it depends on the host. */
  readonly tlsMode: TlsMode | undefined
  /** A file of trusted certificates. */
  readonly authorities: string | undefined
  /** Milliseconds. */
  readonly maxConnect: number | undefined
}

/** The cure is a part of the message. It names what was found, but never a password. */
export class ConnectionSettingsError extends Error {
  override name = 'ConnectionSettingsError'
  /** The message without the name of the setting. */
  readonly fault: string

  constructor(
    /** The name of the setting. */
    readonly key: string,
    found: string,
    allowed: string,
  ) {
    const fault = `${found}; allowed: ${allowed}`
    super(`${key}: ${fault}`)
    this.fault = fault
  }
}

const PARTS = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/
const FORM = 'postgres://USER@HOST:5432,HOST2:5433/DATABASE?sslmode=verify-full, other characters encoded as %40'

const known = ['host', 'port', 'user', 'password', 'dbname', 'sslmode', 'sslrootcert', 'target_session_attrs']
const PARAMETERS = [...known, 'connect_timeout']
/** What the writer needs in any case. */
const WRITABLE = ['read-write', 'primary']

/** @throws ConnectionSettingsError */
export function parseConnectionUrl(url: string): ConnectionUrl {
  const refuse = (rule: string, allowed: string): ConnectionSettingsError =>
    new ConnectionSettingsError('storage.url', `found "${hidePassword(url)}", ${rule}`, allowed)
  const [whole, login = '', authority = '', path = '', query = ''] = PARTS.exec(url) ?? []
  if (whole === undefined) throw refuse('which is no URL of PostgreSQL', FORM)
  if (`${path}${query}`.includes('@')) throw refuse('with an @ behind the host', FORM)
  const decode = (text: string): string => {
    try {
      return decodeURIComponent(text)
    } catch {
      throw refuse('where a % begins no encoded character', 'two digits after each %, and %25 for % itself')
    }
  }
  const parameters = readParameters(query, decode, refuse)
  const [user = '', ...password] = login.split(':')
  return {
    hosts: readHosts(authority, parameters, decode, refuse),
    user: parameters.get('user') ?? (decode(user) || undefined),
    password: parameters.get('password') ?? (decode(password.join(':')) || undefined),
    database: parameters.get('dbname') ?? (decode(path) || undefined),
    tlsMode: readTlsMode(parameters.get('sslmode'), refuse),
    authorities: parameters.get('sslrootcert'),
    maxConnect: readSeconds(parameters.get('connect_timeout'), refuse),
  }
}

type Decode = (text: string) => string
type Refuse = (rule: string, allowed: string) => ConnectionSettingsError
type Parameters = ReadonlyMap<string, string>

function readParameters(query: string, decode: Decode, refuse: Refuse): Parameters {
  const pairs = query.split('&').filter((pair) => pair !== '')
  const parameters = new Map(
    pairs.map((pair) => {
      const [name = '', ...value] = pair.split('=')
      return [decode(name), decode(value.join('='))]
    }),
  )
  const unknown = [...parameters.keys()].find((name) => !PARAMETERS.includes(name))
  if (unknown !== undefined) throw refuse(`with the parameter ${unknown}`, PARAMETERS.join(', '))
  const session = parameters.get('target_session_attrs')
  if (session !== undefined && !WRITABLE.includes(session)) {
    throw refuse(`with target_session_attrs=${session}, and the mail server writes`, WRITABLE.join(', '))
  }
  return parameters
}

/** A host in the parameters replaces those of the authority, as libpq has it. */
function readHosts(authority: string, parameters: Parameters, decode: Decode, refuse: Refuse): readonly HostAddress[] {
  const written = parameters.get('host')?.split(',').map(splitNothing) ?? authority.split(',').map(splitPort)
  const ports = parameters.get('port')?.split(',') ?? []
  if (ports.length > 1 && ports.length !== written.length) {
    throw refuse(`with ${ports.length} ports for ${written.length} hosts`, 'one port, or one for each host')
  }
  return written.map(({ name, port }, index) => {
    const host = readHost(decode(name), refuse)
    return { host, port: readPort(ports[index] ?? ports[0] ?? port, refuse) }
  })
}

interface WrittenHost {
  readonly name: string
  readonly port: string
}

function splitNothing(name: string): WrittenHost {
  return { name, port: '' }
}

function splitPort(text: string): WrittenHost {
  const [, address, name = '', port = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::(.*))?$/.exec(text) ?? []
  return { name: address ?? name, port }
}

function readHost(host: string, refuse: Refuse): string {
  if (host === '') return DEFAULT_SOCKET_FOLDER
  if (host.startsWith('/') || isIP(host) !== 0 || /^[\w.-]+$/.test(host)) return host
  throw refuse(`with the host "${host}"`, 'a name, an IPv4 address, an IPv6 address in [ ], or the folder of a socket')
}

function readPort(text: string, refuse: Refuse): number {
  if (text === '') return DEFAULT_PORT
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port < 1 || port > 65_535) throw refuse(`with the port "${text}"`, 'ports from 1 to 65535')
  return port
}

function readTlsMode(text: string | undefined, refuse: Refuse): TlsMode | undefined {
  if (text === undefined) return undefined
  const mode = TLS_MODES.find((name) => name === text)
  if (mode === undefined) throw refuse(`with sslmode=${text}`, TLS_MODES.join(', '))
  return mode
}

function readSeconds(text: string | undefined, refuse: Refuse): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,2}$/.test(text)) throw refuse(`with connect_timeout=${text}`, 'seconds from 1 to 999')
  return Number(text) * 1000
}

/** The URL for a person to read. What follows the first colon of the login may be a password, up to the last @. */
export function hidePassword(url: string): string {
  const begin = url.indexOf('://') + 3
  const colon = url.indexOf(':', begin)
  const end = url.lastIndexOf('@')
  const shown = colon !== -1 && colon < end ? `${url.slice(0, colon)}:***${url.slice(end)}` : url
  return shown.replace(/([?&]password=)[^&#]*/gi, '$1***')
}
