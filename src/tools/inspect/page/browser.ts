/** Keeps the size that a person gives an element by its corner; in the browser, by name, so that it stays after a reload. */
export function keepSize(name: string): (element: HTMLElement | null) => void {
  const key = `responses-extproc inspector ${name}`;
  let observer: ResizeObserver | null = null;
  return (element) => {
    observer?.disconnect();
    if (element === null) return;
    try {
      const [width = '', height = ''] = localStorage.getItem(key)?.split(' ') ?? [];
      Object.assign(element.style, { width, height });
      observer = new ResizeObserver(() => {
        localStorage.setItem(key, `${element.style.width} ${element.style.height}`);
      });
      observer.observe(element);
    } catch {
      // Not allowed: then it lasts as long as the element.
    }
  };
}

/** Saves a JSON text as a file. */
export function downloadJson(name: string, json: string): void {
  const url = URL.createObjectURL(new Blob([json], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
