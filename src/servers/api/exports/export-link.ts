/** Signs links to the files of exports, which need no key and are valid as long as the file is kept. */
import type { KeyObject } from 'node:crypto'
import { formatLinkQuery, type LinkParts, signLink } from '../../../base/platform/signed-link.js'
import { verifyLink } from '../http/input/link-signature.js'

interface LinkedExport {
  readonly workspaceId: string
  readonly exportId: string
  /** Epoch milliseconds. */
  readonly expiresAt: number
}

/** `publicUrl` has no trailing slash. */
export function buildExportLink(secret: KeyObject, publicUrl: string, linked: LinkedExport): string {
  const { workspaceId, exportId, expiresAt } = linked
  const query = formatLinkQuery(workspaceId, expiresAt, signLink(secret, partsOf(linked)))
  return `${publicUrl}/v1/exports/${exportId}/download?${query}`
}

/** Throws a Refusal `forbidden` for a wrong signature. */
export function verifyExportLink(secret: KeyObject, linked: LinkedExport, signature: string): void {
  verifyLink(secret, partsOf(linked), signature)
}

function partsOf({ workspaceId, exportId, expiresAt }: LinkedExport): LinkParts {
  return ['export', workspaceId, exportId, expiresAt]
}
