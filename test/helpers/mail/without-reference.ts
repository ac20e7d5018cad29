/** A sent message without its one field that differs for each recipient; throws if that field is not on top. */
const field = /^X-Posthorn-Reference: [a-z2-7]{42}\r\n/

export function withoutReference(raw: Buffer): Buffer {
  const found = field.exec(raw.toString('latin1', 0, 100))
  if (found === null) throw new Error(`no reference on top: ${raw.toString('latin1', 0, 100)}`)
  return raw.subarray(found[0].length)
}
