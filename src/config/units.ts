/** How a setting writes a time span and a size. `MB` is 1,048,576 bytes, as everywhere in Posthorn. */

const milliseconds = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const bytes = { KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 } as const

/** `90s`, `5m`, `8h`, `4d` as milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const found = /^(\d{1,6})([smhd])$/.exec(text)
  return found ? Number(found[1]) * milliseconds[found[2] as keyof typeof milliseconds] : undefined
}

/** `512KB`, `15MB`, `1GB` as bytes; undefined for anything else. */
export function parseSize(text: string): number | undefined {
  const found = /^(\d{1,6})(KB|MB|GB)$/.exec(text)
  return found ? Number(found[1]) * bytes[found[2] as keyof typeof bytes] : undefined
}
