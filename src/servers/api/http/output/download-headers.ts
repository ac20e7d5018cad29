/** The header fields of a file that is to be saved, since its content is untrusted. */
import { formatContentDisposition } from './content-disposition.js'

/** Header fields of a file that is saved, and neither executed, framed nor cached. `nosniff` is in every answer. */
export function buildDownloadHeaders(name: string): Readonly<Record<string, string>> {
  return {
    'Content-Disposition': formatContentDisposition(name),
    'Content-Security-Policy': "sandbox; default-src 'none'",
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'private, no-store',
  }
}
