/** Finds the domain in what a person pastes: the address of a page, or an email address. Pure. */

interface TypedDomain {
  /** Null if the text is the name of a domain as it is. */
  readonly proposal: string | null
  /** The text cannot be the name of a domain. */
  readonly isAddress: boolean
}

/** `https://www.shop.example/cart` and `ann@shop.example` are addresses with the domain `shop.example`. */
export function readTypedDomain(typed: string): TypedDomain {
  const text = typed.trim()
  const host = text
    .replace(/^[a-z][a-z\d+.-]*:(\/\/)?/i, '')
    .replace(/[/?#\\].*$/s, '')
    .replace(/^.*@/s, '')
    .replace(/:\d*$/, '')
    .replace(/\.$/, '')
  const domain = host.replace(/^www\.(?=[^.]+\.)/i, '')
  const isName = domain !== '' && !/[\s:@/]/.test(domain)
  return { proposal: isName && domain !== text ? domain : null, isAddress: /[/:@?#\\]/.test(text) }
}
