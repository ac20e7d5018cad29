/** Decodes the content of a part that is uuencoded; null: it has no `begin` line. Lines that are broken are skipped. */
export function decodeUuencoded(body: Buffer): Buffer | null {
  const lines = body.toString('latin1').split(/\r?\n/)
  const begin = lines.findIndex((line) => /^begin [0-7]{3,4} /.test(line))
  if (begin === -1) return null
  const decoded: Buffer[] = []
  for (const line of lines.slice(begin + 1)) {
    if (line === 'end') break
    decoded.push(decodeLine(line))
  }
  return Buffer.concat(decoded)
}

/** The first character is the number of octets; each of the others has six bits. */
function decodeLine(line: string): Buffer {
  const valueAt = (at: number): number => (line.charCodeAt(at) - 0x20) & 0x3f
  const length = line === '' ? 0 : valueAt(0)
  const octets = Buffer.alloc(Math.ceil(length / 3) * 3)
  for (let at = 1, place = 0; place < length && at < line.length; at += 4, place += 3) {
    const bits = (valueAt(at) << 18) | (valueAt(at + 1) << 12) | (valueAt(at + 2) << 6) | valueAt(at + 3)
    octets.writeUIntBE(bits & 0xffffff, place, 3)
  }
  return octets.subarray(0, length)
}
