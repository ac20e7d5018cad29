/** Makes the frame of a preview smaller when its place is narrower than the mail, so that nothing is cut off. */
import { type MutableRef, useLayoutEffect, useRef } from 'preact/hooks'

/** Pixels of the mail, by the chosen width. `templates.css` has the same. */
const WIDTHS: ReadonlyMap<string, number> = new Map([
  ['desk', 640],
  ['phone', 376],
])

/** Returns the ref of the element around the frame. */
export function usePreviewZoom(width: string): MutableRef<HTMLElement | null> {
  const place = useRef<HTMLElement | null>(null)
  useLayoutEffect(() => {
    const element = place.current
    if (element === null) return undefined
    const fit = (): void => {
      const zoom = Math.min(1, element.clientWidth / (WIDTHS.get(width) ?? element.clientWidth))
      element.style.setProperty('--preview-zoom', String(zoom))
    }
    const observer = new ResizeObserver(fit)
    observer.observe(element)
    fit()
    return () => observer.disconnect()
  }, [width])
  return place
}
