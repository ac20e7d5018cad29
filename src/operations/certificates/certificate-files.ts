/**
 * Stores certificates in `tls/acme` of the data folder: a folder for each name with its certificate, the order under
 * way and the record of its tries, and the account at the ACME server.
 *
 * Everything has mode 0600. A file is complete or absent: it is written under another name, synced to disk, and
 * renamed. A certificate and its key are one file, so that they cannot belong to two orders.
 */
import { createHash } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type DomainName, tryParseDomainName } from '../../base/mail/address.js'
import { errorCodeOf } from '../../base/platform/errors.js'
import { isRecord } from '../../base/platform/records.js'
import type { TlsPair } from '../../base/platform/tls-files.js'
import { type NameRecord, parseNameRecord } from './name-record.js'

export interface StoredAccount {
  readonly url: string
  /** PEM. */
  readonly key: string
}

/** An order that was made and has no certificate yet. */
export interface StoredOrder {
  readonly url: string
  /** URL of the account that made it. */
  readonly account: string
  /** The key of the certificate, PEM. */
  readonly key: string
}

const CERTIFICATE = 'certificate.pem'
const ORDER = 'order.json'
const RECORD = 'record.json'
/** The folder of requests to renew. Names of hosts that get certificates have a dot. */
const REQUESTS = 'requests'

export class CertificateFiles {
  private readonly folder: string

  constructor(dataFolder: string) {
    this.folder = join(dataFolder, 'tls', 'acme')
  }

  /** The names that have a folder. */
  async listNames(): Promise<readonly DomainName[]> {
    const entries = await readdir(this.folder, { withFileTypes: true }).catch(emptyIfAbsent)
    return entries.filter((entry) => entry.isDirectory()).flatMap(toHostName)
  }

  pathOf(name: DomainName): string {
    return join(this.folder, name, CERTIFICATE)
  }

  /** Null if there is none. */
  async readPair(name: DomainName): Promise<TlsPair | null> {
    const text = await readText(this.pathOf(name))
    const at = text?.indexOf('-----BEGIN CERTIFICATE-----') ?? -1
    return text === null || at <= 0 ? null : { key: text.slice(0, at), cert: text.slice(at) }
  }

  async storePair(name: DomainName, { cert, key }: TlsPair): Promise<void> {
    await this.write(name, CERTIFICATE, `${key.trimEnd()}\n${cert}`)
  }

  async readRecord(name: DomainName): Promise<NameRecord> {
    return parseNameRecord(await this.readJson(name, RECORD))
  }

  async storeRecord(name: DomainName, record: NameRecord): Promise<void> {
    await this.write(name, RECORD, `${JSON.stringify(record)}\n`)
  }

  async readOrder(name: DomainName): Promise<StoredOrder | null> {
    const found = await this.readJson(name, ORDER)
    const { url, account, key } = found ?? {}
    if (typeof url !== 'string' || typeof account !== 'string' || typeof key !== 'string') return null
    return { url, account, key }
  }

  async storeOrder(name: DomainName, order: StoredOrder): Promise<void> {
    await this.write(name, ORDER, `${JSON.stringify(order)}\n`)
  }

  async removeOrder(name: DomainName): Promise<void> {
    await rm(join(this.folder, name, ORDER), { force: true })
  }

  async remove(name: DomainName): Promise<void> {
    await rm(join(this.folder, name), { recursive: true, force: true })
  }

  /** Asks the daemon to renew at its next look. */
  async requestRenewal(name: DomainName): Promise<void> {
    await writeWhole(join(this.folder, REQUESTS), name, '')
  }

  /** The names that an operator has asked to renew. */
  async listRequests(): Promise<readonly DomainName[]> {
    const entries = await readdir(join(this.folder, REQUESTS), { withFileTypes: true }).catch(emptyIfAbsent)
    return entries.flatMap(toHostName)
  }

  async removeRequest(name: DomainName): Promise<void> {
    await rm(join(this.folder, REQUESTS, name), { force: true })
  }

  /** Null if there is none at this server. */
  async readAccount(directory: URL): Promise<StoredAccount | null> {
    const { url, key } = parseJson(await readText(join(this.folder, accountFile(directory)))) ?? {}
    return typeof url === 'string' && typeof key === 'string' ? { url, key } : null
  }

  async storeAccount(directory: URL, account: StoredAccount): Promise<void> {
    const text = `${JSON.stringify({ directory: directory.href, ...account })}\n`
    await writeWhole(this.folder, accountFile(directory), text)
  }

  private async readJson(name: DomainName, file: string): Promise<ReturnType<typeof parseJson>> {
    return parseJson(await readText(join(this.folder, name, file)))
  }

  private async write(name: DomainName, file: string, text: string): Promise<void> {
    await writeWhole(join(this.folder, name), file, text)
  }
}

function accountFile({ href }: URL): string {
  return `account-${createHash('sha256').update(href).digest('hex').slice(0, 16)}.json`
}

async function writeWhole(folder: string, name: string, text: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, name)
  const file = await open(`${path}.new`, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
  const parent = await open(folder, 'r')
  try {
    await parent.sync()
  } finally {
    await parent.close()
  }
}

/** Null if there is no such file. */
async function readText(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if (errorCodeOf(error) === 'ENOENT') return null
    throw error
  })
}

/** Null if there is none, or it is broken. A broken one counts as absent, and is written again. */
function parseJson(text: string | null): Readonly<Record<PropertyKey, unknown>> | null {
  try {
    const value: unknown = text === null ? null : JSON.parse(text)
    return isRecord(value) ? value : null
  } catch {
    return null
  }
}

function toHostName({ name }: { readonly name: string }): DomainName | [] {
  return name.includes('.') && !name.endsWith('.new') ? (tryParseDomainName(name) ?? []) : []
}

function emptyIfAbsent(error: unknown): [] {
  if (errorCodeOf(error) === 'ENOENT') return []
  throw error
}
