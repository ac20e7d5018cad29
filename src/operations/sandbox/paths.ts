/**
 * The files and ports of the sandbox.
 *
 * Everything is in one data folder; removing it removes the sandbox.
 */
import { join } from 'node:path'

export const HOST = '127.0.0.1'
export const DOMAIN = 'example.test'

export interface SandboxPaths {
  readonly folder: string
  readonly configuration: string
  /** The API key alone. */
  readonly key: string
  readonly log: string
  /** Lines to paste. It has the key. */
  readonly guide: string
  /** Arrived messages, an .eml file each. */
  readonly sink: string
  readonly tls: string
}

export function sandboxPaths(folder: string): SandboxPaths {
  return {
    folder,
    configuration: join(folder, 'posthorn.toml'),
    key: join(folder, 'quickstart-key'),
    log: join(folder, 'posthorn.log'),
    guide: join(folder, 'quickstart.txt'),
    sink: join(folder, 'sink'),
    tls: join(folder, 'tls'),
  }
}

export type Ports = Readonly<Record<'startTls' | 'tls' | 'api' | 'sink' | 'mx', number>>

export const DEFAULT_BASE = 1000
export const MAX_BASE = 65_535 - 587

/** The well-known ports 587, 465, 443 and 25 plus `base`; the MX listener is next to the sink. */
export function portsAbove(base: number): Ports {
  return { startTls: base + 587, tls: base + 465, api: base + 443, sink: base + 25, mx: base + 26 }
}
