"""Linkages in Exudyn: rigid bars, and flexible ones as floating frames or as exact beams."""

import os
import tempfile
from types import SimpleNamespace
from typing import NamedTuple

import exudyn
import numpy as np
from exudyn import itemInterface as items
from exudyn.FEM import ObjectFFRFreducedOrderInterface
from exudyn.rigidBodyUtilities import RotationMatrix2EulerParameters, RotationMatrix2RotXYZ
from scipy import sparse

exudyn.config.printToConsole = False

OFFSETS = ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0))  # corners of a section, over radii
TIP_RADIUS = 1e-3  # of the four points whose mean is the tip of a floating frame [m]
UPRIGHT = np.eye(3)  # axes of a hinge that turns about z


class Place(NamedTuple):
    """A marker and its axes at the start."""

    marker: int
    R: np.ndarray  # (3, 3)  in the base frame


class Bar(NamedTuple):
    """Places on a bar that other bars connect to."""

    root: Place
    tip: Place
    middle: Place


class Linkage:
    """
    Bars in the plane xy of the base frame that turn about z.

    Rigid bars and floating frames have Euler parameters; exact beams have Tait-Bryan angles,
    which are singular far from that plane only.
    """

    def __init__(self, gravity):
        self._gravity = list(gravity)
        self._container = exudyn.SystemContainer()
        self.system = self._container.AddSystem()
        self._ground = self.system.AddObject(items.ObjectGround())
        self._sensors = {}

    def ground(self, p):
        """Return a Place on the base at point p (3,)."""
        return Place(self._on_body(self._ground, p), np.eye(3))

    def rigid_bar(self, start, R, length, mass, centre, inertia):
        """
        Return a rigid Bar along its x axis.

        :param start: of its root, (3,) [m]; R: its axes, (3, 3).
        :param centre: of mass (3,) [m]; inertia about it, (3, 3) [kg m2]; both in its axes.
        """
        parameters = RotationMatrix2EulerParameters(R)
        node = self.system.AddNode(
            items.NodeRigidBodyEP(referenceCoordinates=[*start, *parameters])
        )
        c = np.asarray(centre, float)
        J = inertia + mass * (c @ c * np.eye(3) - np.outer(c, c))
        body = self.system.AddObject(
            items.ObjectRigidBody(
                nodeNumber=node,
                mass=mass,
                centerOfMass=[*c],
                inertia=[J[0, 0], J[1, 1], J[2, 2], J[1, 2], J[0, 2], J[0, 1]],
            )
        )
        self._pull_down(body)
        shares = 0.0, 1.0, 0.5
        markers = [self._on_body(body, [share * length, 0.0, 0.0]) for share in shares]
        return Bar(*(Place(marker, R) for marker in markers))

    def floating_bar(self, start, R, beam):
        """
        Return the Bar of a Beam as a floating frame, linear in its coordinates.

        Mass points at the corners of rectangles about the Gauss stations have the mass and the
        rotary inertia of the sections.
        """
        points, masses, shapes = _mass_points(beam)
        x = np.array([beam.length, beam.length / 2])
        Phi, Theta = beam.shape(x), beam.turn(x)
        for at, u, turn in zip(x, Phi, Theta):
            for y, z in OFFSETS:
                d = TIP_RADIUS * np.array([0.0, y, z])
                points.append([at, *d[1:]])
                masses.append(0.0)
                shapes.append(u + np.cross(turn.T, d).T)
        nodes = np.arange(len(points) - 8, len(points))
        return Bar(
            *self.floating_frame(
                start,
                R,
                np.array(points),
                sparse.diags(masses).tocsr(),
                np.array(shapes),
                beam.stiffness,
                [(part, np.full(4, 0.25)) for part in (nodes[:4], nodes[4:])],
            )
        )

    def floating_frame(self, start, R, points, mass, shapes, stiffness, groups):
        """
        Return Places at the origin of a floating frame and at the means of groups of its nodes.

        :param start: of its origin, (3,) [m]; R: its axes, (3, 3).
        :param points: nodes in its axes, (N, 3) [m]; mass: by node, (N, N) [kg].
        :param shapes: displacements by coordinate, (N, 3, n); stiffness: of them, (n, n).
        :param groups: numbers of nodes and their weights, whose sum is 1.
        """
        interface = ObjectFFRFreducedOrderInterface(_mesh(points, mass, shapes))
        interface.stiffnessMatrixReduced = stiffness
        added = interface.AddObjectFFRFreducedOrderWithUserFunctions(
            exudyn, self.system, positionRef=[*start], rotationMatrixRef=R, gravity=self._gravity
        )
        markers = [
            self.system.AddMarker(
                items.MarkerSuperElementRigid(
                    bodyNumber=added['oFFRFreducedOrder'],
                    meshNodeNumbers=[*map(int, nodes)],
                    weightingFactors=[*map(float, weights)],
                )
            )
            for nodes, weights in groups
        ]
        root = self.system.AddMarker(items.MarkerNodeRigid(nodeNumber=added['nRigidBody']))
        return [Place(marker, R) for marker in (root, *markers)]

    def exact_bar(self, start, R, length, section, elements):
        """
        Return the Bar of an even number of geometrically exact elements.

        :param section: exudyn.BeamSection, in the axes R (3, 3) whose z axis is that of the base.
        """
        part, angles = length / elements, RotationMatrix2RotXYZ(R)
        nodes = [
            self.system.AddNode(
                items.NodeRigidBodyRxyz(
                    referenceCoordinates=[*(start + R[:, 0] * part * k), *angles]
                )
            )
            for k in range(elements + 1)
        ]
        for pair in zip(nodes, nodes[1:]):
            self._pull_down(
                self.system.AddObject(
                    items.ObjectBeamGeometricallyExact(
                        nodeNumbers=[*pair], length=part, sectionData=section
                    )
                )
            )
        places = (nodes[k] for k in (0, elements, elements // 2))
        return Bar(
            *(
                Place(self.system.AddMarker(items.MarkerNodeRigid(nodeNumber=node)), R)
                for node in places
            )
        )

    def hinge(self, parent, child, axes=UPRIGHT, is_planar=False):
        """
        Let two Places turn about the z axis of `axes` (3, 3), in the base frame.

        :param is_planar: whether other hinges keep them in the plane; Exudyn needs all
            constraints to be independent.
        """
        across = int(not is_planar)
        self.system.AddObject(
            items.ObjectJointGeneric(
                markerNumbers=[parent.marker, child.marker],
                constrainedAxes=[1, 1, across, across, across, 0],
                rotationMarker0=parent.R.T @ axes,
                rotationMarker1=child.R.T @ axes,
            )
        )

    def two_point_hinge(self, parent, child, axes):
        """
        Let two bodies turn about the z axis of `axes` (3, 3), in the base frame, by two points.

        The angular velocity of a flexible interface is not exact in Exudyn, positions are.

        :param parent: two Places on this axis; child: two Places at the same points, the second
            one does not turn relative to its body.
        """
        for one, other, along in zip(parent, child, (1, 0)):
            self.system.AddObject(
                items.ObjectJointGeneric(
                    markerNumbers=[other.marker, one.marker],
                    constrainedAxes=[1, 1, along, 0, 0, 0],
                    rotationMarker0=other.R.T @ axes,
                    rotationMarker1=one.R.T @ axes,
                )
            )

    def apply_torque(self, place, torque, axis=(0.0, 0.0, 1.0)):
        """Apply a constant torque about an axis of the base, z by default, on a Place [N m]."""
        self.system.AddLoad(
            items.LoadTorqueVector(
                markerNumber=place.marker, loadVector=[*torque * np.asarray(axis)]
            )
        )

    def drive(self, parent, child, rate, damping):
        """
        Apply the torque damping * (rate - turn rate) about z between two Places.

        :param rate: function of time [s] that returns a rate [rad/s], called once in a step.
        """
        drive = self.system.AddObject(
            items.ObjectConnectorTorsionalSpringDamper(
                markerNumbers=[parent.marker, child.marker],
                rotationMarker0=parent.R.T,
                rotationMarker1=child.R.T,
                stiffness=0.0,
                damping=damping,
            )
        )

        def before_step(system, time):
            system.SetObjectParameter(drive, 'velocityOffset', rate(time))
            return True

        self.system.SetPreStepUserFunction(before_step)

    def watch(self, name, place, quantity=exudyn.OutputVariableType.Position):
        """Record the position of a Place, or another quantity."""
        self._sensors[name] = self.system.AddSensor(
            items.SensorMarker(
                markerNumber=place.marker,
                outputVariableType=quantity,
                storeInternal=True,
                writeToFile=False,
            )
        )

    def run(self, steps, end, samples, tolerance=1e-10):
        """
        Return what is watched, {name: (samples + 1, 3)}; only once.

        :param tolerance: of Newton's method; larger for stiff beams, whose rounding is large.
        """
        self.system.Assemble()
        settings = exudyn.SimulationSettings()
        time = settings.timeIntegration
        time.endTime, time.numberOfSteps = end, steps * samples
        time.adaptiveStep = False
        time.newton.useModifiedNewton = True
        time.newton.absoluteTolerance = tolerance
        settings.linearSolver.solverType = exudyn.LinearSolverType.EigenSparse
        time.verboseMode = 0
        settings.solution.file.write = False
        settings.solution.sensors.writePeriod = end / samples
        with tempfile.TemporaryDirectory() as folder:
            settings.solution.solverInformationFileName = os.path.join(folder, 'solver.txt')
            self.system.SolveDynamic(
                settings, solverType=exudyn.DynamicSolverType.TrapezoidalIndex2
            )
        return {
            name: self.system.GetSensorStoredData(sensor)[:, 1:4]
            for name, sensor in self._sensors.items()
        }

    def _on_body(self, body, p):
        return self.system.AddMarker(
            items.MarkerBodyRigid(bodyNumber=body, localPosition=[*map(float, p)])
        )

    def _pull_down(self, body):
        self.system.AddLoad(
            items.LoadMassProportional(
                markerNumber=self.system.AddMarker(items.MarkerBodyMass(bodyNumber=body)),
                loadVector=self._gravity,
            )
        )


def _mass_points(beam):
    """Positions, masses and displacement shapes (3, n) of points with the inertia of a beam."""
    rho, (_, Jy, Jz) = beam.section.mass_per_length, beam.section.inertia
    radii = np.sqrt(np.array([Jz, Jy]) / rho)  # of points off the axis along y and z
    points, masses, shapes = [], [], []
    for x, weight, u, turn in zip(beam.stations, beam.weights, beam.Phi, beam.Theta):
        for offset in OFFSETS:
            d = np.array([0.0, *radii * offset])
            points.append([x, *d[1:]])
            masses.append(rho * weight / 4)
            shapes.append(u + np.cross(turn.T, d).T)
    return points, masses, shapes


def _mesh(points, mass, shapes):
    """What the interface to floating frames reads from a finite element model."""
    matrix = sparse.kron(mass, sparse.identity(3), format='csr')
    return SimpleNamespace(
        modeBasis={'matrix': shapes.reshape(-1, shapes.shape[2])},
        postProcessingModes={},
        GetNodePositionsAsArray=lambda: points,
        GetSurfaceTriangles=list,
        GetSurfaceTriangles6=list,
        GetMassMatrix=lambda sparse: matrix,
        GetStiffnessMatrix=lambda sparse: 0.0 * matrix,
    )
