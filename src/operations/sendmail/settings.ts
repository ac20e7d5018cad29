/**
 * Reads where sendmail hands its mail: the file of POSTHORN_SENDMAIL_CONFIG, else /etc/posthorn/sendmail.toml, else the
 * first `submission.listen` of the daemon's configuration. A file that is named must be there.
 */
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { parse } from 'smol-toml'
import { parseListenAddress } from '../../base/config/network-values.js'
import { type Address, tryParseAddress } from '../../base/mail/address.js'
import { errorCodeOf, errorMessageOf } from '../../base/platform/errors.js'
import { isRecord } from '../../base/platform/records.js'
import { exitCodes, SendmailFault } from './exit-codes.js'

export interface SendmailSettings {
  readonly host: string
  readonly port: number
  /** Null if the server trusts this machine's network. */
  readonly key: string | null
  /** Set if there is a key that this user may not read. */
  readonly keyFault: SendmailFault | null
  /** The sender if the caller gives none. */
  readonly sender: Address | null
}

type Env = Readonly<Record<string, string | undefined>>

const OWN_FILE = '/etc/posthorn/sendmail.toml'
const DAEMON_FILE = '/etc/posthorn/posthorn.toml'
const DEFAULT_LISTEN = '127.0.0.1:1587'
const names = new Set(['server', 'key_file', 'sender'])

/** Throws a SendmailFault `configuration`. */
export function readSettings(env: Env, ownFile = OWN_FILE, daemonFile = DAEMON_FILE): SendmailSettings {
  const named = env['POSTHORN_SENDMAIL_CONFIG'] || null
  const file = named ?? ownFile
  const written = readToml(file, named !== null)
  if (written === null) return { ...readDaemonAddress(env, daemonFile), ...noKey, sender: null }
  const unknown = Object.keys(written).find((name) => !names.has(name))
  if (unknown !== undefined) throw buildFault(file, unknown, 'is unknown; allowed: server, key_file, sender')
  const text = (name: string): string => {
    const value = written[name] ?? ''
    if (typeof value !== 'string') throw buildFault(file, name, 'is not a text')
    return value
  }
  const sender = text('sender') === '' ? null : tryParseAddress(text('sender'))
  if (sender === null && text('sender') !== '') throw buildFault(file, 'sender', 'is not a mail address')
  const server = parseListenAddress(text('server') || DEFAULT_LISTEN)
  if (server === undefined) throw buildFault(file, 'server', 'is not an address with a port such as "127.0.0.1:587"')
  return { ...toReachable(server), ...(text('key_file') === '' ? noKey : readKey(text('key_file'))), sender }
}

function readDaemonAddress(env: Env, daemonFile: string): { readonly host: string; readonly port: number } {
  const named = env['POSTHORN_CONFIG'] || null
  const file = named ?? daemonFile
  const { submission } = readToml(file, named !== null) ?? {}
  const listen: unknown = isRecord(submission) ? submission['listen'] : undefined
  const first: unknown = Array.isArray(listen) ? listen[0] : DEFAULT_LISTEN
  const address = typeof first === 'string' ? parseListenAddress(first) : undefined
  if (address === undefined) throw buildFault(file, 'submission.listen', `names no address; write ${OWN_FILE}`)
  return toReachable(address)
}

/** A listener on all addresses is reached on loopback. */
function toReachable({ host, port }: { readonly host: string; readonly port: number }): {
  readonly host: string
  readonly port: number
} {
  if (host === '0.0.0.0') return { host: '127.0.0.1', port }
  return { host: isIP(host) === 6 && /^[0:]+$/.test(host) ? '::1' : host, port }
}

/** Null if there is no such file. */
function readToml(file: string, isNamed: boolean): Readonly<Record<string, unknown>> | null {
  try {
    return parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT' && !isNamed) return null
    const cure = errorCodeOf(error) === 'EACCES' ? `; write ${OWN_FILE}, which all users may read` : ''
    throw new SendmailFault(exitCodes.configuration, `${file} cannot be read: ${errorMessageOf(error)}${cure}`)
  }
}

type Key = Pick<SendmailSettings, 'key' | 'keyFault'>

const noKey: Key = { key: null, keyFault: null }

function readKey(file: string): Key {
  try {
    return { key: readFileSync(file, 'utf8').trim(), keyFault: null }
  } catch (error) {
    const text = `key_file cannot be read: ${errorMessageOf(error)}`
    if (errorCodeOf(error) !== 'EACCES') throw new SendmailFault(exitCodes.configuration, text)
    return { key: null, keyFault: new SendmailFault(exitCodes.noPermission, text) }
  }
}

function buildFault(file: string, name: string, rule: string): SendmailFault {
  return new SendmailFault(exitCodes.configuration, `${file}: ${name} ${rule}`)
}
