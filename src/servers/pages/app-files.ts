/**
 * The files of the dashboard, as the build makes them: an `index.html` for all of its paths, and assets whose names
 * change with their content.
 *
 * All are read at the start and stay in memory; they are a few hundred kilobytes. Each is compressed once, when a
 * browser first asks for it, on the thread pool.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { basename, extname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { errorCodeOf } from '../../base/platform/errors.js'

type Encoding = 'br' | 'gzip'

export interface AppFile {
  readonly type: string
  readonly bytes: Buffer
  /** The ETag of these bytes, without its quotes. */
  readonly tag: string
  readonly headers: Readonly<Record<string, string>>
  /** Null if it is not worth it. */
  readonly compress: (encoding: Encoding) => Promise<Buffer> | null
}

export interface AppFiles {
  /** Finds a file by the path of a request, `/ui/…`. Null if there is no such file. */
  readonly find: (path: string) => AppFile | null
  /** The name, within the assets, of the script that sets the color scheme that the user has chosen. Null if there is none. */
  readonly themeScript: string | null
  /** The page of every path that is no file. */
  readonly shell: AppFile
}

/** The build puts the files here. */
export const appFolder = fileURLToPath(new URL('../../../ui', import.meta.url))

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.json': 'application/json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
}
/** The beginning of its path: the build adds a hash. */
const THEME_SCRIPT = '/ui/assets/first-theme-'
/** Images, which are compressed in themselves. */
const isPacked = (type: string): boolean => type === 'image/png' || type === 'image/x-icon'

/** A page loads its own files only, runs no inline script, and is shown in no frame of others. */
const shellHeaders = {
  'Cache-Control': 'no-cache',
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
    "frame-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'Referrer-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Opener-Policy': 'same-origin',
}
const assetHeaders = { 'Cache-Control': 'public, max-age=31536000, immutable' }
const otherHeaders = { 'Cache-Control': 'no-cache' }

/** Null if the dashboard was not built. */
export async function loadAppFiles(folder: string): Promise<AppFiles | null> {
  const names = await listFiles(folder)
  const files = new Map<string, AppFile>()
  for (const name of names) {
    const path = `/ui/${name.split(sep).join('/')}`
    files.set(path, toAppFile(path, await readFile(join(folder, name))))
  }
  const shell = files.get('/ui/index.html')
  if (shell === undefined) return null
  files.delete('/ui/index.html')
  const script = [...files.keys()].find((path) => path.startsWith(THEME_SCRIPT))
  return {
    find: (path) => files.get(path) ?? null,
    themeScript: script === undefined ? null : basename(script),
    shell,
  }
}

async function listFiles(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    const start = join(folder, sep).length
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name).slice(start))
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return []
    throw error
  }
}

function toAppFile(path: string, bytes: Buffer): AppFile {
  const type = types[extname(path)] ?? 'application/octet-stream'
  const headers =
    path === '/ui/index.html' ? shellHeaders : path.startsWith('/ui/assets/') ? assetHeaders : otherHeaders
  const compressed = new Map<Encoding, Promise<Buffer>>()
  return {
    type,
    bytes,
    tag: createHash('sha256').update(bytes).digest('base64url').slice(0, 27),
    headers: { ...headers, Vary: 'Accept-Encoding' },
    compress: (encoding) => {
      if (isPacked(type)) return null
      const known = compressed.get(encoding)
      if (known !== undefined) return known
      const made = compressors[encoding](bytes)
      compressed.set(encoding, made)
      // The next request tries again.
      made.catch(() => compressed.delete(encoding))
      return made
    },
  }
}

const toGzip = promisify(gzip)
const toBrotli = promisify(brotliCompress)
const compressors: Readonly<Record<Encoding, (bytes: Buffer) => Promise<Buffer>>> = {
  gzip: (bytes) => toGzip(bytes, { level: 9 }),
  br: (bytes) => toBrotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
}
