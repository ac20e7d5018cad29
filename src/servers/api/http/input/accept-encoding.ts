/** Decides which compressions a client takes (RFC 9110 section 12.5.3). Pure. */

/** Members of a list that are read. */
const MAX_MEMBERS = 20

/** True only if the field names it, or `*`: a client without the field may be a program that stores the bytes. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  const weights = parseWeights(acceptEncoding)
  return (weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0) > 0
}

/** Brotli where the field names it, else gzip as `acceptsGzip` says. Null if it is neither. */
export function chooseEncoding(acceptEncoding: string | undefined): 'br' | 'gzip' | null {
  if ((parseWeights(acceptEncoding).get('br') ?? 0) > 0) return 'br'
  return acceptsGzip(acceptEncoding) ? 'gzip' : null
}

function parseWeights(acceptEncoding: string | undefined): ReadonlyMap<string, number> {
  return new Map((acceptEncoding ?? '').split(',', MAX_MEMBERS).map(parseMember))
}

function parseMember(member: string): readonly [coding: string, weight: number] {
  const [coding = '', ...parameters] = member.split(';', MAX_MEMBERS).map((part) => part.trim().toLowerCase())
  const quality = parameters.find((parameter) => parameter.startsWith('q='))
  const weight = quality === undefined ? 1 : Number(quality.slice(2))
  return [coding, Number.isNaN(weight) ? 0 : weight]
}
