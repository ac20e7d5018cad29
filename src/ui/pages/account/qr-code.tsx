/** Shows a text as a QR code, as one path of an SVG image. */
import type { VNode } from 'preact'
import { encodeQR } from 'qr'

interface QrCodeProps {
  readonly text: string
  readonly label: string
}

/** Light modules around the code, as readers expect. */
const BORDER = 4

export function QrCode({ text, label }: QrCodeProps): VNode {
  const rows = encodeQR(text, 'raw', { ecc: 'medium', border: BORDER })
  const path = rows.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : []))).join('')
  return (
    <svg class="qr-code" viewBox={`0 0 ${rows.length} ${rows.length}`} role="img" aria-label={label}>
      <rect width={rows.length} height={rows.length} />
      <path d={path} />
    </svg>
  )
}
