// Animation of the arm, and a cursor in all plots at the shown time. The page sends no requests.
'use strict';

function numbers(text) {
  const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  return new Int16Array(bytes.buffer);
}

const cursors = [...document.querySelectorAll('.plot[data-from]')].map(plot => {
  const line = document.createElement('div');
  line.className = 'cursor';
  plot.append(line);
  return {line, left: +plot.dataset.left, right: +plot.dataset.right, from: +plot.dataset.from,
          until: +plot.dataset.until};
});

function showTime(time) {
  for (const c of cursors) {
    const share = (time - c.from) / (c.until - c.from);
    c.line.style.display = share >= 0 && share <= 1 ? 'block' : 'none';
    c.line.style.left = 100 * (c.left + share * (c.right - c.left)) + '%';
  }
}

class Stage {
  constructor(data, canvas) {
    this.data = data;
    this.canvas = canvas;
    this.pen = canvas.getContext('2d');
    this.places = numbers(data.places);
    this.turns = numbers(data.turns);
    this.axes = numbers(data.axes);
    this.loads = numbers(data.loads);
    this.tips = numbers(data.tips);
    this.solids = data.solids.map(solid => ({
      ...solid, points: numbers(solid.vertices), rgb: rgb(solid.colour)}));
    this.ramp = data.colours.map(rgb);
    // the camera looks from the side, and from a little above
    this.turn = -1.0;
    this.tilt = 0.32;
    this.distance = 1.9 * data.reach;
    this.centre = [...data.middle];
    this.frame = 0;
    this.listen();
  }

  listen() {
    const canvas = this.canvas, held = new Map();
    canvas.addEventListener('pointerdown', event => {
      canvas.setPointerCapture(event.pointerId);
      held.set(event.pointerId, [event.clientX, event.clientY]);
    });
    const release = event => held.delete(event.pointerId);
    canvas.addEventListener('pointerup', release);
    canvas.addEventListener('pointercancel', release);
    canvas.addEventListener('pointermove', event => {
      const before = held.get(event.pointerId);
      if (!before) return;
      const across = event.clientX - before[0], down = event.clientY - before[1];
      const apart = () => {
        const [a, b] = [...held.values()];
        return Math.hypot(a[0] - b[0], a[1] - b[1]);
      };
      const span = held.size === 2 ? apart() : 0;
      held.set(event.pointerId, [event.clientX, event.clientY]);
      if (span) {
        this.zoom(span / Math.max(apart(), 1));
      } else if (event.shiftKey) {
        this.shift(across, down);
      } else {
        this.turn -= 0.008 * across;
        this.tilt = Math.min(Math.max(this.tilt + 0.008 * down, -1.5), 1.5);
      }
      this.draw(this.frame);
    });
    canvas.addEventListener('wheel', event => {
      event.preventDefault();
      this.zoom(Math.exp(0.001 * event.deltaY));
      this.draw(this.frame);
    }, {passive: false});
  }

  zoom(factor) {
    const reach = this.data.reach;
    this.distance = Math.min(Math.max(this.distance * factor, 0.2 * reach), 12 * reach);
  }

  shift(across, down) {
    const scale = this.distance / this.canvas.clientHeight;
    for (let k = 0; k < 3; k++) {
      this.centre[k] += scale * (down * this.up[k] - across * this.right[k]);
    }
  }

  aim() {
    const ct = Math.cos(this.turn), st = Math.sin(this.turn);
    const ce = Math.cos(this.tilt), se = Math.sin(this.tilt);
    this.back = [ce * ct, ce * st, se];        // from what is looked at to the camera
    this.right = [-st, ct, 0];
    this.up = [-se * ct, -se * st, ce];
    this.focus = 1.25 * Math.min(this.width, 1.4 * this.height);
  }

  // place on the canvas and distance from the camera
  seen(x, y, z) {
    const dx = x - this.centre[0], dy = y - this.centre[1], dz = z - this.centre[2];
    const {right, up, back} = this;
    const away = Math.max(this.distance - (dx * back[0] + dy * back[1] + dz * back[2]), 1e-6);
    const scale = this.focus / away;
    return [this.width / 2 + scale * (dx * right[0] + dy * right[1] + dz * right[2]),
            this.height / 2 - scale * (dx * up[0] + dy * up[1] + dz * up[2]), away, scale];
  }

  draw(frame) {
    this.frame = frame;
    const canvas = this.canvas, ratio = window.devicePixelRatio || 1;
    const width = Math.round(canvas.clientWidth * ratio);
    const height = Math.round(canvas.clientHeight * ratio);
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    this.width = width;
    this.height = height;
    this.aim();
    this.pen.clearRect(0, 0, width, height);
    this.drawFloor(ratio);
    this.drawTrace(frame, ratio);
    const parts = [];
    this.addSolids(frame, parts);
    this.addLinks(frame, parts);
    parts.sort((a, b) => b.away - a.away);
    for (const part of parts) part.draw(this.pen);
  }

  drawFloor(ratio) {
    const style = getComputedStyle(document.documentElement), reach = this.data.reach;
    const step = 10 ** Math.floor(Math.log10(reach)) * (reach / 10 ** Math.floor(
      Math.log10(reach)) > 4 ? 1 : 0.25);
    const count = Math.ceil(1.2 * reach / step);
    this.pen.strokeStyle = style.getPropertyValue('--floor');
    this.pen.lineWidth = ratio;
    this.pen.beginPath();
    for (let k = -count; k <= count; k++) {
      for (const ends of [[[k, -count], [k, count]], [[-count, k], [count, k]]]) {
        const [a, b] = ends.map(([x, y]) => this.seen(step * x, step * y, 0));
        this.pen.moveTo(a[0], a[1]);
        this.pen.lineTo(b[0], b[1]);
      }
    }
    this.pen.stroke();
  }

  drawTrace(frame, ratio) {
    const {tips, data} = this, style = getComputedStyle(document.documentElement);
    this.pen.strokeStyle = style.getPropertyValue('--plot-2');
    this.pen.lineWidth = 1.5 * ratio;
    this.pen.beginPath();
    for (let k = Math.max(0, frame - 300); k <= frame; k++) {
      const p = this.seen(data.unit * tips[3 * k], data.unit * tips[3 * k + 1],
                          data.unit * tips[3 * k + 2]);
      this.pen.lineTo(p[0], p[1]);
    }
    this.pen.stroke();
  }

  addSolids(frame, parts) {
    const {data, places, turns} = this, unit = data.unit;
    for (const solid of this.solids) {
      const row = frame * data.movers + solid.mover;
      const R = matrix(turns, 4 * row);
      const p = [0, 1, 2].map(k => unit * places[3 * row + k]);
      const world = [], seen = [];
      for (let k = 0; k < solid.points.length; k += 3) {
        const x = unit * solid.points[k], y = unit * solid.points[k + 1];
        const z = unit * solid.points[k + 2];
        const w = [0, 1, 2].map(i => R[3 * i] * x + R[3 * i + 1] * y + R[3 * i + 2] * z + p[i]);
        world.push(w);
        seen.push(this.seen(...w));
      }
      for (let k = 0; k < solid.faces.length; k += 3) {
        const [a, b, c] = [0, 1, 2].map(i => solid.faces[k + i]);
        const A = seen[a], B = seen[b], C = seen[c];
        // back faces are hidden
        if ((B[0] - A[0]) * (C[1] - A[1]) - (B[1] - A[1]) * (C[0] - A[0]) >= 0) continue;
        const light = shade(world[a], world[b], world[c], this.back);
        const colour = css(solid.rgb, light);
        parts.push({away: (A[2] + B[2] + C[2]) / 3, draw(pen) {
          pen.fillStyle = pen.strokeStyle = colour;
          pen.lineWidth = 0.7;
          pen.beginPath();
          pen.moveTo(A[0], A[1]);
          pen.lineTo(B[0], B[1]);
          pen.lineTo(C[0], C[1]);
          pen.closePath();
          pen.fill();
          pen.stroke();
        }});
      }
    }
  }

  addLinks(frame, parts) {
    const {data, axes, loads, ramp} = this, unit = data.unit;
    for (const link of data.links) {
      // consecutive segments of a link, each with its own nodes at both ends
      const count = link.pieces[1] - link.pieces[0], nodes = link.nodes[1] - link.nodes[0];
      const segments = nodes - count, each = count / segments;
      for (let k = 0; k < count; k++) {
        const node = frame * data.nodes + link.nodes[0] + k + Math.floor(k / each);
        const ends = [node, node + 1].map(n => this.seen(
          unit * axes[3 * n], unit * axes[3 * n + 1], unit * axes[3 * n + 2]));
        const load = loads[frame * data.pieces + link.pieces[0] + k] / 32767;
        const colour = css(ramp[Math.min(Math.floor(load * ramp.length), ramp.length - 1)], 0.95);
        const width = Math.max(link.width * (ends[0][3] + ends[1][3]) / 2, 2);
        parts.push({away: (ends[0][2] + ends[1][2]) / 2, draw(pen) {
          for (const [thick, paint] of [[width + 1.5, 'rgba(60,60,60,0.55)'], [width, colour]]) {
            // round ends close the bends, and the edge would draw a ring around each of them
            pen.lineCap = thick > width ? 'butt' : 'round';
            pen.strokeStyle = paint;
            pen.lineWidth = thick;
            pen.beginPath();
            pen.moveTo(ends[0][0], ends[0][1]);
            pen.lineTo(ends[1][0], ends[1][1]);
            pen.stroke();
          }
        }});
      }
    }
  }
}

function rgb(text) {
  return [1, 3, 5].map(k => parseInt(text.slice(k, k + 2), 16));
}

function css(colour, light) {
  return `rgb(${colour.map(part => Math.round(Math.min(part * light, 255))).join(',')})`;
}

function matrix(turns, at) {
  const [x, y, z, w] = [0, 1, 2, 3].map(k => turns[at + k] / 32767);
  return [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
          2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
          2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)];
}

function shade(a, b, c, eye) {
  const u = [0, 1, 2].map(k => b[k] - a[k]), v = [0, 1, 2].map(k => c[k] - a[k]);
  const n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
  const size = Math.hypot(...n) || 1;
  const facing = Math.abs(n[0] * eye[0] + n[1] * eye[1] + n[2] * eye[2]) / size;
  return 0.5 + 0.35 * facing + 0.2 * Math.max(n[2] / size, 0);
}

const holder = document.getElementById('motion');
if (holder) {
  const data = JSON.parse(holder.textContent);
  const stage = new Stage(data, document.querySelector('#stage canvas'));
  const slider = document.getElementById('time'), clock = document.getElementById('clock');
  const button = document.getElementById('play'), speed = document.getElementById('speed');
  const times = data.time, last = times.length - 1;
  let now = times[0], before = null, playing = false;
  slider.min = times[0];
  slider.max = times[last];
  slider.step = 'any';

  const frameAt = time => {
    let low = 0, high = last;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (times[middle] <= time) low = middle; else high = middle - 1;
    }
    return low;
  };
  const show = () => {
    slider.value = now;
    clock.textContent = `${now.toFixed(2)} of ${times[last].toFixed(2)} s`;
    stage.draw(frameAt(now));
    showTime(now);
  };
  const tick = stamp => {
    if (!playing) return;
    if (before !== null) now += +speed.value * (stamp - before) / 1000;
    before = stamp;
    if (now >= times[last]) now = times[0];
    show();
    requestAnimationFrame(tick);
  };
  const play = wish => {
    playing = wish;
    before = null;
    button.textContent = playing ? 'pause' : 'play';
    if (playing) requestAnimationFrame(tick);
  };
  button.addEventListener('click', () => play(!playing));
  slider.addEventListener('input', () => {
    play(false);
    now = +slider.value;
    show();
  });
  // a click on a plot goes to its time
  for (const plot of document.querySelectorAll('.plot[data-from]')) {
    plot.addEventListener('click', event => {
      const box = plot.getBoundingClientRect(), at = plot.dataset;
      const share = ((event.clientX - box.left) / box.width - at.left) / (at.right - at.left);
      if (share < 0 || share > 1) return;
      play(false);
      now = Math.min(Math.max(+at.from + share * (at.until - at.from), times[0]), times[last]);
      show();
    });
  }
  addEventListener('resize', show);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', show);
  show();
}
