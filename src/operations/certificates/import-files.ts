/**
 * Takes the files over that an earlier version kept in `tls/acme` of the data folder, so that no certificate is ordered
 * again. What is in the database already stays. The folder is removed afterwards, so that no key lies in two places. It
 * gets another name if it has a certificate that cannot be used.
 */
import { readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type DomainName, tryParseDomainName } from '../../base/mail/address.js'
import { errorCodeOf } from '../../base/platform/errors.js'
import { ownValueOf } from '../../base/platform/records.js'
import type { Store } from '../../base/storage/db/database.js'
import type { Write } from '../../base/storage/db/write.js'
import { toJson } from '../../base/storage/tables/columns.js'
import { importAccount } from './account-rows.js'
import { importCertificate, toCertificateRow } from './certificate-rows.js'
import { parseNameRecord } from './name-record.js'
import { importName } from './name-rows.js'

interface ImportDeps extends Pick<Store, 'commit'> {
  readonly dataFolder: string
  readonly now: number
  /** A certificate that cannot be used is left out. */
  readonly onFault: (name: string, error: unknown) => void
}

export async function importFiles(deps: ImportDeps): Promise<void> {
  const folder = join(deps.dataFolder, 'tls', 'acme')
  const entries = await listFolder(folder)
  if (entries === null) return
  const asked = new Set(await listFolder(join(folder, 'requests')))
  let isComplete = true
  const onFault: ImportDeps['onFault'] = (name, error) => {
    isComplete = false
    deps.onFault(name, error)
  }
  for (const entry of entries) {
    const name = entry.includes('.') ? tryParseDomainName(entry) : null
    if (entry.startsWith('account-')) await deps.commit(readAccount(await readText(join(folder, entry))))
    else if (name !== null)
      await deps.commit(await readName({ ...deps, onFault }, join(folder, entry), name, asked.has(entry)))
  }
  if (isComplete) await rm(folder, { recursive: true, force: true })
  else await rename(folder, `${folder}-not-used`)
}

function readAccount(text: string): readonly Write[] {
  const [directory, url, key] = ['directory', 'url', 'key'].map((field) => ownValueOf(parseJson(text), field))
  const isAccount = typeof directory === 'string' && typeof url === 'string' && typeof key === 'string'
  return isAccount && URL.canParse(directory) ? [importAccount(new URL(directory), { url, key })] : []
}

async function readName(
  { now, onFault }: ImportDeps,
  folder: string,
  name: DomainName,
  isAsked: boolean,
): Promise<readonly Write[]> {
  const [record, order] = [await readText(join(folder, 'record.json')), await readText(join(folder, 'order.json'))]
  const { failures, fault, triedAt, nextTryAt, orders, issued } = parseNameRecord(parseJson(record))
  const [url, account, key] = ['url', 'account', 'key'].map((field) => textOf(parseJson(order), field))
  const written = importName({
    ...{ name, failures, fault, tried_at: triedAt, next_try_at: nextTryAt, asked: isAsked ? 1 : 0, updated_at: now },
    ...{ orders: toJson(orders), issued: toJson(issued) },
    ...{ order_url: url ?? null, order_account: account ?? null, order_key: key ?? null },
  })
  const text = await readText(join(folder, 'certificate.pem'))
  const at = text.indexOf('-----BEGIN CERTIFICATE-----')
  if (at <= 0) return [written]
  try {
    return [written, importCertificate(toCertificateRow(name, { key: text.slice(0, at), cert: text.slice(at) }))]
  } catch (error) {
    onFault(name, error)
    return [written]
  }
}

function textOf(value: unknown, field: string): string | null {
  const text = ownValueOf(value, field)
  return typeof text === 'string' ? text : null
}

/** Null if it is not JSON: what is broken counts as absent. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Null if there is none. */
async function listFolder(folder: string): Promise<readonly string[] | null> {
  return readdir(folder).catch((error: unknown) => {
    if (errorCodeOf(error) === 'ENOENT') return null
    throw error
  })
}

/** Empty if there is no such file, also because a file stands where a folder is expected. */
async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(errorCodeOf(error))) return ''
    throw error
  })
}
