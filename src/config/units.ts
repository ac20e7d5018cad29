/** How a setting writes a time span and a size. `MB` is 1,048,576 bytes, as everywhere in Posthorn. */

const milliseconds: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const bytes: Readonly<Record<string, number>> = { KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 }

/** `90s`, `5m`, `8h`, `4d` as milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  return scale(/^(\d{1,6})([smhd])$/.exec(text), milliseconds)
}

/** `512KB`, `15MB`, `1GB` as bytes; undefined for anything else. */
export function parseSize(text: string): number | undefined {
  return scale(/^(\d{1,6})(KB|MB|GB)$/.exec(text), bytes)
}

function scale(match: RegExpExecArray | null, units: Readonly<Record<string, number>>): number | undefined {
  const [, count, unit = ''] = match ?? []
  const factor = units[unit]
  return factor === undefined ? undefined : Number(count) * factor
}
