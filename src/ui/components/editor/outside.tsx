/**
 * Renders something at the end of the document instead of here, such as a dialog with a form: a form must not stand
 * in another one. What is rendered there has no context of this place.
 */
import { type ComponentChild, render } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'

export function Outside({ children }: { readonly children: ComponentChild }): null {
  const host = useRef<HTMLDivElement | null>(null)
  useLayoutEffect(() => {
    if (host.current === null) {
      host.current = document.createElement('div')
      document.body.append(host.current)
    }
    render(children, host.current)
  })
  useEffect(
    () => () => {
      if (host.current === null) return
      render(null, host.current)
      host.current.remove()
    },
    [],
  )
  return null
}
